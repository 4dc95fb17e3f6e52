// permctl: shows permissions, sets decisions, sends requests, monitors, diagnoses, and answers prompts in a terminal.

Permctl.start()

// permd-settings: the window in which a person sees and changes what apps may use.

SettingsProgram.main()

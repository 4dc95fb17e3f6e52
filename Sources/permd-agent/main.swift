// permd-agent: shows prompts in a window on the desktop.

AgentProgram.main()

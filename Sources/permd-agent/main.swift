// permd-agent: the desktop's prompts, in a window.

AgentProgram.main()

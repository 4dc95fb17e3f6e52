// permd-scripted-agent: an agent that answers from its arguments, for tests without a user.

ScriptedAgentProgram.main()

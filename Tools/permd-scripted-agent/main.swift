// permd-scripted-agent: an agent that answers from its arguments, for machines without a person.

ScriptedAgentProgram.main()

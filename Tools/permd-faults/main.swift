// permd-faults: injects faults into a running permd, at random from a seed. scripts/faults runs it.

FaultsProgram.main()

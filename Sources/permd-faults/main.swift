// permd-faults: bad days for permd, by a seed. scripts/faults runs it.

FaultsProgram.main()

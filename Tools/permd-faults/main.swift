// permd-faults: injects random faults, reproducible from a seed, into a running permd. Run by scripts/faults.

FaultsProgram.main()

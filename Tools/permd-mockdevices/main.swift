// permd-mockdevices: mock devices for tests and demos. See MockDevicesProgram.

MockDevicesProgram.main()

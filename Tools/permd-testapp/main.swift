// permd-testapp: an app on the session bus that does what its standard input says.

TestAppProgram.main()

// permd-testapp: an app on the session bus that is controlled through standard input.

TestAppProgram.main()

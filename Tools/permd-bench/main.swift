// The benchmark: permd beside similar services, on a bus that scripts/bench sets up.

import Glibc

exit(BenchProgram.main(Array(CommandLine.arguments.dropFirst())))

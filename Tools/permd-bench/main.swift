// The benchmark: permd beside what people would use instead, on a bus that scripts/bench has made.

import Glibc

exit(BenchProgram.main(Array(CommandLine.arguments.dropFirst())))

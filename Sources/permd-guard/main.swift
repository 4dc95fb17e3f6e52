// The program permd-guard: stands between programs and device nodes, and exits with its status.

import Glibc

exit(GuardProgram.main())

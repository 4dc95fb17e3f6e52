// The program permd-gate: stands between a service and its bus, and exits with its status.

import Glibc

exit(GateProgram.main())

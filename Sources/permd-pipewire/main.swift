// The program permd-pipewire: runs the enforcement point and exits with its status.

import Glibc

exit(PipeWireProgram.main())

// The program permd: runs the daemon and exits with its status.

import Glibc
import PermissionDaemon

exit(Program.main())

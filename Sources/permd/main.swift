// The permission daemon: parse, build, run.

import Glibc
import PermissionDaemon

exit(Program.main())

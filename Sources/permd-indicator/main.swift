// The program permd-indicator: runs the indicator and exits with its status.

import Glibc

exit(IndicatorProgram.main())

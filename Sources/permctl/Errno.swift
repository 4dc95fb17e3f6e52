// The message for errno.

import Glibc

enum Errno {
    static var text: String { String(cString: strerror(errno)) }
}

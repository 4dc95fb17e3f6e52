// errno in words.

import Glibc

enum Errno {
    static var text: String { String(cString: strerror(errno)) }
}

// The controlling terminal: raw while a question is on it, and as it was before in every other moment.

import CLinux
import Dispatch
import Glibc

final class Terminal: Sendable {
    enum Key: Equatable {
        case character(Character)
        case escape
        /// Ctrl-C or Ctrl-D.
        case leave
        /// The terminal is gone.
        case hangup
        /// ``stop()`` was called.
        case stopped
    }

    /// Milliseconds without a key before one counts: nobody answers what appeared under a hand that was typing.
    static let guardMilliseconds: Int32 = 400
    /// Milliseconds within which the rest of an escape sequence follows its first byte.
    private static let sequenceMilliseconds: Int32 = 50

    private let fd: Int32
    private let original: termios
    /// Readable: reading ends.
    private let stopEvent: Int32

    /// Opens /dev/tty; nil without a controlling terminal.
    init?() {
        fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        stopEvent = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        var attributes = termios()
        guard fd >= 0, stopEvent >= 0, tcgetattr(fd, &attributes) == 0 else {
            if fd >= 0 { close(fd) }
            if stopEvent >= 0 { close(stopEvent) }
            return nil
        }
        original = attributes
    }

    deinit {
        restore()
        close(stopEvent)
        close(fd)
    }

    /// Whether keys would come to us: a job in the background must not read or change the terminal.
    var isForeground: Bool { tcgetpgrp(fd) == getpgrp() }

    var columns: Int { Output.columns(of: fd) ?? 80 }

    /// Without line wrap (DECAWM): should this terminal draw a character wider than ``Columns`` knows, the line is cut at its
    /// edge and none of it comes to stand among the choices below.
    func write(_ text: TerminalText) { Output.write(Terminal.canWrap ? "\u{1B}[?7l\(text)\u{1B}[?7h" : text, to: fd) }

    private static let canWrap = !["", "dumb"].contains(getenv("TERM").map { String(cString: $0) } ?? "")

    /// Keys come one by one and are not shown; what was typed before is thrown away.
    func makeRaw() {
        var attributes = original
        attributes.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
        attributes.c_iflag &= ~tcflag_t(IXON | ICRNL | INLCR | BRKINT)
        tcsetattr(fd, TCSAFLUSH, &attributes)
    }

    /// As it was, without keys that were meant for a question.
    func restore() {
        guard isForeground else { return }
        var attributes = original
        tcsetattr(fd, TCSAFLUSH, &attributes)
    }

    /// Ends a reading that is under way, or the next one.
    func stop() { eventfd_write(stopEvent, 1) }

    func clearStop() {
        var count: eventfd_t = 0
        _ = eventfd_read(stopEvent, &count)
    }

    /// The next key after a quiet moment.
    func guardedKey() async -> Key {
        await withCheckedContinuation { continuation in
            // A thread that may block: the cooperative pool's may not.
            DispatchQueue.global().async { [self] in continuation.resume(returning: readGuarded()) }
        }
    }

    private func readGuarded() -> Key {
        tcflush(fd, TCIFLUSH)
        while true {
            switch wait(Terminal.guardMilliseconds) {
            case .nothing: return readKey()
            case .stopped: return .stopped
            case .hangup: return .hangup
            case .input: tcflush(fd, TCIFLUSH)
            }
        }
    }

    private func readKey() -> Key {
        switch wait(-1) {
        case .stopped: return .stopped
        case .nothing, .hangup: return .hangup
        case .input: break
        }
        var byte: UInt8 = 0
        guard read(fd, &byte, 1) == 1 else { return .hangup }
        switch byte {
        case 3, 4: return .leave
        case 27:
            // An arrow key and its like begin with an escape, too; they mean nothing here.
            guard wait(Terminal.sequenceMilliseconds) == .input else { return .escape }
            tcflush(fd, TCIFLUSH)
            return readKey()
        default: return .character(Character(UnicodeScalar(byte)))
        }
    }

    private enum Readiness {
        case input, nothing, stopped, hangup
    }

    private func wait(_ milliseconds: Int32) -> Readiness {
        var polled = [
            pollfd(fd: stopEvent, events: Int16(POLLIN), revents: 0), pollfd(fd: fd, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            let count = poll(&polled, nfds_t(polled.count), milliseconds)
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return count == 0 ? .nothing : .hangup }
            if polled[0].revents != 0 { return .stopped }
            if polled[1].revents & Int16(POLLIN) != 0 { return .input }
            return .hangup
        }
    }
}

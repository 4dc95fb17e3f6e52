// The controlling terminal: in raw mode while it shows a question, otherwise with its original settings.

import CLinux
import Dispatch
import Glibc

final class Terminal: Sendable {
    enum Key: Equatable {
        case character(Character)
        case escape
        /// Ctrl-C or Ctrl-D.
        case leave
        /// The terminal was closed.
        case hangup
        /// ``stop()`` was called.
        case stopped
    }

    /// Milliseconds without a key press before a key counts, so that a person who is typing when a question appears
    /// does not answer it by accident.
    static let guardMilliseconds: Int32 = 400
    /// Milliseconds to wait for the rest of an escape sequence after its first byte.
    private static let sequenceMilliseconds: Int32 = 50

    private let fd: Int32
    private let original: termios
    /// An eventfd(2) that is readable once ``stop()`` was called.
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

    /// Whether this process is in the foreground; a background job must not read or change the terminal.
    var isForeground: Bool { tcgetpgrp(fd) == getpgrp() }

    var columns: Int { Output.columns(of: fd) ?? 80 }

    /// Writes with line wrap off (DECAWM): if the terminal draws a character wider than ``Columns`` expects, it cuts
    /// the line at its edge, and no part of the line appears among the choices below.
    func write(_ text: TerminalText) { Output.write(Terminal.canWrap ? "\u{1B}[?7l\(text)\u{1B}[?7h" : text, to: fd) }

    private static let canWrap = !["", "dumb"].contains(getenv("TERM").map { String(cString: $0) } ?? "")

    /// Makes keys available one by one and without echo, and discards earlier input.
    func makeRaw() {
        var attributes = original
        attributes.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
        attributes.c_iflag &= ~tcflag_t(IXON | ICRNL | INLCR | BRKINT)
        tcsetattr(fd, TCSAFLUSH, &attributes)
    }

    /// Restores the original settings, and discards keys that were meant for a question.
    func restore() {
        guard isForeground else { return }
        var attributes = original
        tcsetattr(fd, TCSAFLUSH, &attributes)
    }

    /// Ends the current read, or the next one.
    func stop() { eventfd_write(stopEvent, 1) }

    func clearStop() {
        var count: eventfd_t = 0
        _ = eventfd_read(stopEvent, &count)
    }

    /// The next key after ``guardMilliseconds`` without one.
    func guardedKey() async -> Key {
        await withCheckedContinuation { continuation in
            // Threads of the cooperative pool must not block.
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
            // Arrow and function keys send sequences that begin with an escape; ignore them.
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

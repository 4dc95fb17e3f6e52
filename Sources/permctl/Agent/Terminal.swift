// The controlling terminal: with a page and in raw mode while it shows a prompt, otherwise with its original settings.

import CLinux
import Dispatch
import Glibc
import Synchronization

final class Terminal: Sendable {
    enum Key: Equatable {
        case character(Character)
        case escape
        /// Ctrl-C or Ctrl-D.
        case leave
        case up, down, pageUp, pageDown
        /// Any other key.
        case other
    }

    enum Event: Equatable {
        /// A key that counts.
        case key(Key)
        /// ``wake()`` was called.
        case woken
        /// ``stop()`` was called.
        case stopped
        /// The terminal was closed.
        case hangup
    }

    /// Milliseconds to wait for the next byte of an escape sequence.
    private static let sequenceMilliseconds: Int32 = 50
    /// The most bytes that are read as one escape sequence; those of keys are shorter.
    private static let sequenceBytes = 16
    /// For a terminal that does not know its size.
    private static let usualSize = ScreenSize(columns: 80, rows: 24)

    private let fd: Int32
    private let original: termios
    /// An eventfd(2) that is readable once ``stop()`` was called.
    private let stopEvent: Int32
    /// An eventfd(2) that is readable after ``wake()``.
    private let wakeEvent: Int32
    /// What is said while a page is on the screen, until it is gone; nil while there is none.
    private let unsaid = Mutex<[TerminalText]?>(nil)

    /// Opens /dev/tty; nil without a controlling terminal.
    init?() {
        fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC)
        stopEvent = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        wakeEvent = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        var attributes = termios()
        guard fd >= 0, stopEvent >= 0, wakeEvent >= 0, tcgetattr(fd, &attributes) == 0 else {
            for descriptor in [fd, stopEvent, wakeEvent] where descriptor >= 0 { close(descriptor) }
            return nil
        }
        original = attributes
    }

    deinit {
        restore()
        close(wakeEvent)
        close(stopEvent)
        close(fd)
    }

    /// Whether this process is in the foreground; a background job must not read or change the terminal.
    var isForeground: Bool { tcgetpgrp(fd) == getpgrp() }

    /// Whether a page can be drawn in place of another one. A terminal that only prints line by line has no height.
    static let canDraw = !["", "dumb"].contains(getenv("TERM").map { String(cString: $0) } ?? "")

    var size: ScreenSize {
        var found = winsize()
        let isKnown = ioctl(fd, UInt(TIOCGWINSZ), &found) == 0 && found.ws_col > 0 && found.ws_row > 0
        var size = isKnown ? ScreenSize(columns: Int(found.ws_col), rows: Int(found.ws_row)) : Terminal.usualSize
        if !Terminal.canDraw { size.rows = .max }
        return size
    }

    // MARK: Output

    /// Writes lines; while a page is on the screen, after it.
    func say(_ text: TerminalText) {
        let isHeld = unsaid.withLock { held in
            held?.append(text)
            return held != nil
        }
        if !isHeld { write(text) }
    }

    /// Writes with line wrap off (DECAWM): if the terminal draws a character wider than ``Columns`` expects, it cuts
    /// the line at its edge, and no part of the line appears among the choices below.
    private func write(_ text: TerminalText) {
        Output.write(Terminal.canDraw ? "\u{1B}[?7l\(text)\u{1B}[?7h" : text, to: fd)
    }

    /// Makes keys available one by one and without echo, discards earlier input, and switches to the alternate screen.
    /// There, a page stays where it was drawn when the terminal's size changes, and what was on the terminal returns.
    func beginPage() {
        unsaid.withLock { $0 = [] }
        var attributes = original
        attributes.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
        attributes.c_iflag &= ~tcflag_t(IXON | ICRNL | INLCR | BRKINT)
        tcsetattr(fd, TCSAFLUSH, &attributes)
        if Terminal.canDraw { Output.write("\u{1B}[?1049h", to: fd) }
    }

    /// Draws a page in place of the one before, or prints it.
    func draw(_ lines: [TerminalText]) {
        guard Terminal.canDraw else { return write("\n" + lines.joined(separator: "\n") + "\n") }
        write("\u{1B}[H" + lines.map { $0 + "\u{1B}[K" }.joined(separator: "\n") + "\u{1B}[J")
    }

    /// Removes the page, restores the settings, and writes what was said meanwhile.
    func endPage() {
        // A terminal without an alternate screen keeps the page unless it is cleared.
        if Terminal.canDraw { Output.write("\u{1B}[H\u{1B}[J\u{1B}[?1049l", to: fd) }
        restore()
        let held = unsaid.withLock { held in
            defer { held = nil }
            return held ?? []
        }
        for text in held { write(text) }
    }

    /// Restores the original settings, and discards keys that were meant for a question.
    func restore() {
        guard isForeground else { return }
        var attributes = original
        tcsetattr(fd, TCSAFLUSH, &attributes)
    }

    // MARK: Events

    /// Ends the current ``next(_:)``, or the next one.
    func stop() { eventfd_write(stopEvent, 1) }

    /// Makes the current or the next ``next(_:)`` return, without any effect on keys and their guard.
    func wake() { eventfd_write(wakeEvent, 1) }

    func clearEvents() {
        clear(stopEvent)
        clear(wakeEvent)
    }

    private func clear(_ event: Int32) {
        var count: eventfd_t = 0
        _ = eventfd_read(event, &count)
    }

    /// The next event. Keys that the guard does not let through are discarded.
    func next(_ keyGuard: inout KeyGuard) async -> Event {
        let before = keyGuard
        let (event, after) = await withCheckedContinuation { continuation in
            // Threads of the cooperative pool must not block.
            DispatchQueue.global().async { [self] in
                var keyGuard = before
                let event = wait(&keyGuard)
                continuation.resume(returning: (event, keyGuard))
            }
        }
        keyGuard = after
        return event
    }

    private func wait(_ keyGuard: inout KeyGuard) -> Event {
        while true {
            switch poll(keyGuard.timeout(at: KeyGuard.now())) {
            case .nothing: keyGuard.wakeUp()
            case .stopped: return .stopped
            case .hangup: return .hangup
            case .woken:
                clear(wakeEvent)
                return .woken
            case .input:
                if keyGuard.isAwake { return readKey().map { .key($0) } ?? .hangup }
                tcflush(fd, TCIFLUSH)
                keyGuard.arm(at: KeyGuard.now())
            }
        }
    }

    /// Reads a key; nil if the terminal was closed.
    private func readKey() -> Key? {
        guard let byte = readByte() else { return nil }
        switch byte {
        case 3, 4: return .leave
        case 27: return readSequence()
        case 0x20..<0x7F: return .character(Character(UnicodeScalar(byte)))
        default: return .other
        }
    }

    /// Reads what follows an escape: nothing after the Escape key, the rest of a sequence (ECMA-48) after an arrow or
    /// function key. Nothing is read beyond its end, because the next key may be there already.
    private func readSequence() -> Key {
        var sequence = ""
        while sequence.count < Terminal.sequenceBytes, hasInput(), let byte = readByte() {
            sequence.unicodeScalars.append(UnicodeScalar(byte))
            let isIntroduced = ["[", "O"].contains(sequence.first)
            if !isIntroduced || sequence.count > 1 && (0x40...0x7E).contains(byte) { break }
        }
        return switch sequence {
        case "": .escape
        case "[A", "OA": .up
        case "[B", "OB": .down
        case "[5~": .pageUp
        case "[6~": .pageDown
        default: .other
        }
    }

    /// Reads a byte; nil if the terminal was closed.
    private func readByte() -> UInt8? {
        var byte: UInt8 = 0
        return read(fd, &byte, 1) == 1 ? byte : nil
    }

    /// Whether input comes in time for an escape sequence. Nothing but input ends the wait, or an arrow key might look like
    /// the Escape key.
    private func hasInput() -> Bool {
        var polled = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
        while true {
            let count = Glibc.poll(&polled, 1, Terminal.sequenceMilliseconds)
            if count < 0, errno == EINTR { continue }
            return count > 0
        }
    }

    private enum Readiness {
        case input, nothing, woken, stopped, hangup
    }

    /// Input comes before a wake-up, so that no flood of wake-ups keeps keys from being read.
    private func poll(_ milliseconds: Int32) -> Readiness {
        var polled = [stopEvent, fd, wakeEvent].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while true {
            let count = Glibc.poll(&polled, nfds_t(polled.count), milliseconds)
            if count < 0, errno == EINTR { continue }
            if count <= 0 { return count == 0 ? .nothing : .hangup }
            if polled[0].revents != 0 { return .stopped }
            if polled[1].revents & ~Int16(POLLIN) != 0 { return .hangup }
            if polled[1].revents != 0 { return .input }
            return .woken
        }
    }
}

// The controlling terminal: lines of text, single keys while a prompt is open, and otherwise its own settings.

import CLinux
import Dispatch
import Glibc
import Synchronization

/// A line, which may become several where the terminal is narrow.
struct TerminalLine {
    /// What begins each of them; without it, all but the first are indented.
    var mark: TerminalText = ""
    let text: TerminalText
    var isBold = false

    func wrapped(to columns: Int) -> [TerminalText] {
        text.wrapped(to: columns - mark.columns, indent: mark.isEmpty ? 4 : 0).map {
            (mark + $0).painted(isBold && Output.isColoured ? .bold : nil)
        }
    }
}

final class Terminal: Sendable {
    enum Event: Equatable {
        case key(Character)
        /// The prompt was withdrawn: ``stop()`` was called.
        case stopped
        /// Ctrl-C, Ctrl-D, or the terminal was closed.
        case left
    }

    static let escape: Character = "\u{1B}"
    /// Any key that is a sequence of several bytes, such as an arrow.
    static let sequence: Character = "\u{0}"
    /// Milliseconds without a key before the first one counts: a person who is typing when a prompt appears must not
    /// answer it by accident.
    static let inputDelay: Int32 = 400
    /// How long the rest of a sequence may take, which tells it from the Escape key.
    private static let sequenceMilliseconds: Int32 = 50
    private static let leastColumns = 12

    /// The last line while a prompt is open, which ends without a line break.
    private struct Prompt {
        var status: TerminalText = ""
        /// Whether keys are discarded until none was pressed for a while. The cursor is hidden meanwhile.
        var isDelayed = true
    }

    private static let (hidesCursor, showsCursor): (TerminalText, TerminalText) = ("\u{1B}[?25l", "\u{1B}[?25h")

    private let fd: Int32
    private let inputDelay: Int32
    private let original: termios
    /// An eventfd(2) that is readable once ``stop()`` was called.
    private let stopEvent: Int32
    /// nil while no prompt is open.
    private let prompt = Mutex<Prompt?>(nil)

    /// Opens the terminal, which stays open as long as the program runs; nil if there is none.
    /// - Parameters:
    ///   - path: the controlling terminal, except in tests.
    ///   - inputDelay: milliseconds.
    init?(_ path: String = "/dev/tty", inputDelay: Int32 = Terminal.inputDelay) {
        self.inputDelay = inputDelay
        fd = open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        stopEvent = eventfd(0, Int32(EFD_CLOEXEC) | Int32(EFD_NONBLOCK))
        var attributes = termios()
        let isTerminal = fd >= 0 && stopEvent >= 0 && tcgetattr(fd, &attributes) == 0
        original = attributes
        if !isTerminal { return nil }
    }

    /// Whether this process is in the foreground; a background job must not read or change the terminal.
    var isForeground: Bool { tcgetpgrp(fd) == getpgrp() }

    /// The last column stays free because some terminals wrap as soon as it is filled.
    var columns: Int { max(Terminal.leastColumns, Output.columns(of: fd) ?? 80) - 1 }

    // MARK: Output

    /// Writes lines, above the status.
    func say(_ lines: [TerminalLine]) {
        let text = lines.flatMap { $0.wrapped(to: columns) }.joined(separator: "\n")
        prompt.withLock { Output.write(Terminal.erasing($0) + text + "\n" + ($0?.status ?? ""), to: fd) }
    }

    /// Writes the status in place of the one before. Others may cause it as often as they like: it stays one line.
    func show(status text: TerminalText) {
        let text = text.cut(to: columns, "…")
        prompt.withLock { prompt in
            guard prompt != nil else { return }
            Output.write(Terminal.erasing(prompt) + text, to: fd)
            prompt?.status = text
        }
    }

    private static func erasing(_ prompt: Prompt?) -> TerminalText {
        prompt.map { "\r" + .spaces($0.status.columns) + "\r" } ?? ""
    }

    // MARK: Input

    /// Makes keys available one by one and without echo, and discards earlier ones.
    func begin() {
        prompt.withLock { $0 = Prompt() }
        delayKeys()
        var count: eventfd_t = 0
        _ = eventfd_read(stopEvent, &count)
        var attributes = original
        attributes.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG | IEXTEN)
        attributes.c_iflag &= ~tcflag_t(IXON | ICRNL | INLCR | BRKINT)
        tcsetattr(fd, TCSAFLUSH, &attributes)
    }

    /// Removes the status, restores the settings, and discards keys that were meant for the prompt.
    func end() {
        prompt.withLock {
            Output.write(Terminal.erasing($0) + Terminal.showsCursor, to: fd)
            $0 = nil
        }
        guard isForeground else { return }
        var attributes = original
        tcsetattr(fd, TCSAFLUSH, &attributes)
    }

    /// Discards keys from now on, until none was pressed for a while.
    func delayKeys() { setDelayed(true) }

    private func setDelayed(_ isDelayed: Bool) {
        prompt.withLock {
            Output.write(isDelayed ? Terminal.hidesCursor : Terminal.showsCursor, to: fd)
            $0?.isDelayed = isDelayed
        }
    }

    /// Ends the current ``next()``, or the next one.
    func stop() { eventfd_write(stopEvent, 1) }

    /// The next event. A key that is discarded is none.
    func next() async -> Event {
        await withCheckedContinuation { continuation in
            // Threads of the cooperative pool must not block.
            DispatchQueue.global().async { [self] in continuation.resume(returning: wait()) }
        }
    }

    private func wait() -> Event {
        while true {
            let isDelayed = prompt.withLock { $0?.isDelayed == true }
            guard let event = event(within: isDelayed ? inputDelay : -1) else {
                setDelayed(false)
                continue
            }
            guard event == .key(Terminal.sequence) else { return event }
            if !isDelayed { return readKey() }
            tcflush(fd, TCIFLUSH)
        }
    }

    /// A key that is still to be read is `sequence`; nil if nothing happens in time.
    private func event(within milliseconds: Int32) -> Event? {
        var polled = [stopEvent, fd].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        while true {
            let count = poll(&polled, nfds_t(polled.count), milliseconds)
            if count < 0, errno == EINTR { continue }
            if count == 0 { return nil }
            if polled[0].revents != 0 { return .stopped }
            return polled[1].revents == Int16(POLLIN) ? .key(Terminal.sequence) : .left
        }
    }

    private func readKey() -> Event {
        var byte: UInt8 = 0
        guard read(fd, &byte, 1) == 1, byte != 3, byte != 4 else { return .left }
        guard byte == 27, event(within: Terminal.sequenceMilliseconds) == .key(Terminal.sequence) else {
            return .key(Character(UnicodeScalar(byte)))
        }
        tcflush(fd, TCIFLUSH)
        return .key(Terminal.sequence)
    }
}

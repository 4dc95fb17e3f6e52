// A program run by a test, with its output line by line and its exit as an awaitable event.

import DBus
import Glibc

package final class ChildProcess: Sendable {
    /// Where a standard stream of the child comes from or goes to.
    package enum Stream: Sendable {
        case inherit, null, pipe
        case file(String)
        /// A descriptor that the caller still owns.
        case descriptor(Int32)
    }

    package enum Exit: Sendable, Hashable {
        case exited(Int32)
        case signaled(Int32)
    }

    package let pid: Int32
    /// The lines of standard output if it is a pipe. For one reader; ends when the child and its descendants have
    /// closed it.
    package let lines: AsyncStream<String>
    /// The same for standard error.
    package let errorLines: AsyncStream<String>
    private let state: State
    private let input: UnixFD?

    /// Starts `executable`, which is searched for in `$PATH` if it contains no slash.
    ///
    /// `environment` is the child's whole environment, except that `PATH` and similar variables are inherited unless
    /// given. The child is killed with the last reference to this object, so a task that reads its lines should hold
    /// only the streams, and when the test program ends.
    package init(
        _ executable: String, _ arguments: [String] = [], environment: [String: String] = [:],
        standardInput: Stream = .null, standardOutput: Stream = .pipe, standardError: Stream = .inherit
    ) throws(TestKitError) {
        Warden.begin()
        let isSudo = executable == Superuser.command.first
        if isSudo { Warden.expectRoot() }
        let plan = SpawnPlan()
        let input = try plan.add(standardInput, as: 0)
        let output = try plan.add(standardOutput, as: 1)
        let errors = try plan.add(standardError, as: 2)
        var environment = environment
        environment[Warden.mark.name] = Warden.mark.value
        let pid = try plan.spawn(executable, arguments, environment)
        self.pid = pid
        self.input = input
        lines = LineReader.lines(of: output)
        errorLines = LineReader.lines(of: errors)
        let state = State(pid, isSudo: isSudo)
        self.state = state
        Loop.shared.post { state.start() }
    }

    deinit { terminate(SIGKILL) }

    /// The environment of this process, for children that are to share it.
    package static var ownEnvironment: [String: String] {
        var variables: [String: String] = [:]
        var next = environ
        while let entry = next.pointee {
            let parts = String(cString: entry).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            next += 1
        }
        return variables
    }

    /// Sends a signal, unless the child has exited. If the child is sudo, the signal goes to the program that it runs.
    package func terminate(_ signal: Int32 = SIGTERM) {
        // On the loop, where children are reaped, so the PID cannot have been reused.
        Loop.shared.post { [state] in state.send(signal) }
    }

    @LoopActor package var isRunning: Bool { state.isRunning }

    /// A child that does not exit within two minutes, far longer than a loaded machine needs, is killed, so that a
    /// broken program fails its test instead of hanging it.
    package func waitForExit() async -> Exit { await state.waitForExit() }

    package func output() async -> String {
        var text = ""
        for await line in lines { text += line + "\n" }
        return text
    }

    /// Writes to the child's standard input, which must be a pipe. Returns false if it is no longer read, or is not
    /// read fast enough.
    @discardableResult
    package func write(_ text: String) -> Bool {
        guard let fd = input?.raw, fd >= 0 else { return false }
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { send(fd, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    package func closeInput() {
        if let fd = input?.take(), fd >= 0 { close(fd) }
    }
}

extension ChildProcess {
    /// The state of the child, on the loop.
    @LoopActor
    fileprivate final class State {
        private static var patience: Int64 { 120_000 }
        /// Milliseconds between checks for the program that sudo is about to start.
        private static var sudoStart: Int64 { 20 }

        private let pid: Int32
        private let isSudo: Bool
        private var exit: Exit?
        private var waiting: [CheckedContinuation<Exit, Never>] = []

        nonisolated init(_ pid: Int32, isSudo: Bool) {
            self.pid = pid
            self.isSudo = isSudo
        }

        func start() {
            Loop.shared.onExit(ofChild: pid) { [self] status in
                let signal = status & 0x7f
                let exit = signal == 0 ? Exit.exited((status >> 8) & 0xff) : .signaled(signal)
                self.exit = exit
                for continuation in waiting { continuation.resume(returning: exit) }
                waiting = []
            }
        }

        var isRunning: Bool { exit == nil }

        /// Sends the signal. SIGKILL also goes to all descendants.
        func send(_ signal: Int32) {
            guard exit == nil else { return }
            if isSudo { return sendThroughSudo(signal) }
            let heirs = signal == SIGKILL ? ProcessTree.descendants(of: pid) : []
            for process in [pid] + heirs { kill(process, signal) }
        }

        /// sudo forwards only some signals, and never SIGKILL, so the program it runs is signalled directly once it
        /// exists.
        private func sendThroughSudo(_ signal: Int32) {
            let heirs = signal == SIGKILL ? ProcessTree.descendants(of: pid) : ProcessTree.children(of: pid)
            let roots = heirs.filter { kill($0, signal) != 0 && errno == EPERM }
            if !roots.isEmpty {
                let words = Superuser.command + ["kill", "-\(signal)"] + roots.map(String.init)
                let killer = try? ChildProcess(words[0], Array(words.dropFirst()), standardError: .null)
                Task {
                    _ = await killer?.waitForExit()
                    // That may have been a helper that sudo runs before the program.
                    if signal == SIGKILL { send(signal) }
                }
            } else if heirs.isEmpty {
                Loop.shared.after(milliseconds: State.sudoStart) { [self] in send(signal) }
            }
        }

        func waitForExit() async -> Exit {
            let timer = Loop.shared.after(milliseconds: State.patience) { [self] in send(SIGKILL) }
            defer { timer.cancel() }
            return await withCheckedContinuation { waiter in
                // Checked here because suspending lets other work run on the loop first.
                if let exit { waiter.resume(returning: exit) } else { waiting.append(waiter) }
            }
        }
    }
}

/// Reads a pipe of the child as lines.
@LoopActor
private final class LineReader {
    private let fd: UnixFD
    private let continuation: AsyncStream<String>.Continuation
    private var token: WatchToken?
    private var unfinished: [UInt8] = []

    nonisolated static func lines(of fd: UnixFD?) -> AsyncStream<String> {
        let (stream, continuation) = AsyncStream.makeStream(of: String.self)
        guard let fd else {
            continuation.finish()
            return stream
        }
        Loop.shared.post { LineReader(fd, continuation).start() }
        return stream
    }

    private init(_ fd: UnixFD, _ continuation: AsyncStream<String>.Continuation) {
        self.fd = fd
        self.continuation = continuation
    }

    private func start() {
        // The handler keeps this object alive until the end of the pipe.
        token = Loop.shared.watch(fd, .readable) { [self] _ in read() }
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = Glibc.read(fd.raw, &buffer, buffer.count)
        if count < 0, errno == EAGAIN || errno == EINTR { return }
        guard count > 0 else { return end() }
        unfinished += buffer[..<count]
        var parts = unfinished.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        unfinished = Array(parts.removeLast())
        for part in parts { continuation.yield(String(decoding: part, as: UTF8.self)) }
    }

    private func end() {
        if !unfinished.isEmpty { continuation.yield(String(decoding: unfinished, as: UTF8.self)) }
        continuation.finish()
        token?.cancel()
        token = nil
        close(fd.take())
    }
}

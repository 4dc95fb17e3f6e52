// permctl agent: answer prompts in this terminal.

import ArgumentParser
import Dispatch
import Glibc
import PermissionClient

struct AgentVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent", abstract: "Answer prompts in this terminal, until Ctrl-C.",
        discussion: """
            A desktop's or lock screen's agent, if there is one, is asked before this one. A key counts when it comes \
            after a quiet moment, so that nobody answers by accident; Escape is Not Now.
            """)

    func run() async throws {
        guard let terminal = Terminal() else {
            throw Failure(.usage, "there is no terminal to ask on; run permctl agent in one")
        }
        guard terminal.isForeground else {
            throw Failure(.usage, "permctl agent asks on its terminal, and cannot from the background")
        }
        let (stops, stop) = AsyncStream<Void>.makeStream()
        let signals = AgentVerb.leaveOnSignals { stop.finish() }
        defer {
            terminal.restore()
            for signal in signals { signal.cancel() }
        }
        let host = AgentHost(level: .terminal, presenter: TerminalAgent(terminal: terminal) { stop.finish() })
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await host.run { AgentVerb.say($0, on: terminal) } }
            group.addTask { for await _ in stops {} }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private static func say(_ event: AgentEvent, on terminal: Terminal) {
        switch event {
        case .registered: terminal.write("Prompts appear here; Ctrl-C leaves.\n")
        case .daemonLost: terminal.write("permd has gone; waiting for it.\n")
        case .refused(let error): terminal.write("permd does not take this agent: \(error.message)\n")
        }
    }

    /// The terminal is put in order on the way out, so no signal may end the program at once. A stopped agent would
    /// keep a prompt from everybody, so it cannot be stopped.
    private static func leaveOnSignals(_ leave: @escaping @Sendable () -> Void) -> [any DispatchSourceSignal] {
        signal(SIGTSTP, SIG_IGN)
        return [SIGINT, SIGTERM, SIGHUP, SIGQUIT].map { number in
            signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler(handler: leave)
            source.resume()
            return source
        }
    }
}

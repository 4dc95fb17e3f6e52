// permctl agent: answers prompts in this terminal.

import ArgumentParser
import Dispatch
import Glibc
import PermissionClient

struct AgentVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent", abstract: "Answer prompts in this terminal until Ctrl-C.",
        discussion: """
            An agent of the desktop or the lock screen, if there is one, is asked first. A key counts only after 400 \
            milliseconds without a key press, so that nobody answers by accident. Escape means Not Now.
            """)

    func run() async throws {
        guard let terminal = Terminal() else {
            throw Failure(.usage, "there is no terminal to show prompts on; run permctl agent in a terminal")
        }
        guard terminal.isForeground else {
            throw Failure(.usage, "permctl agent cannot show prompts from the background; run it in the foreground")
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
        case .registered: terminal.write("Prompts appear here; Ctrl-C quits.\n")
        case .daemonLost: terminal.write("permd has left the bus; waiting for it to return.\n")
        case .refused(let error): terminal.write("permd refused to register this agent: \(error.message)\n")
        }
    }

    /// Turns signals into an orderly exit, which restores the terminal. SIGTSTP is ignored because a stopped agent
    /// would block the prompt it shows and all prompts behind it.
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

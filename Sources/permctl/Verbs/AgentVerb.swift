// permctl agent: answers prompts in this terminal.

import ArgumentParser
import Dispatch
import Glibc
import PermissionClient
import PermissionTexts

struct AgentVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "agent", abstract: "Answer prompts in this terminal until Ctrl-C.",
        discussion: """
            An agent of the desktop or the lock screen, if there is one, is asked first. Prompts are printed as lines, in \
            the language of the environment; the keys stand beside what they do. Keys count only after \(Terminal.inputDelay) \
            milliseconds without a key press, which the cursor shows, so that nobody answers by accident. Escape means Not now.
            """)

    func run() async throws {
        guard let terminal = Terminal() else {
            throw Failure(.usage, "there is no terminal to show prompts on; run permctl agent in a terminal")
        }
        guard terminal.isForeground else {
            throw Failure(.usage, "permctl agent cannot show prompts from the background; run it in the foreground")
        }
        Texts.bind()
        // The catalogs are in UTF-8, and Columns needs it for the widths of characters.
        setlocale(LC_CTYPE, "C.UTF-8")
        let (stops, stop) = AsyncStream<Void>.makeStream()
        let signals = AgentVerb.leaveOnSignals { stop.finish() }
        defer { for signal in signals { signal.cancel() } }
        let agent = TerminalAgent(terminal: terminal) { stop.finish() }
        let host = AgentHost(level: .terminal, presenter: agent)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await host.run { terminal.say([PromptLines.line(AgentVerb.text($0))]) }
            }
            group.addTask { for await _ in stops {} }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    private static func text(_ event: AgentEvent) -> String {
        switch event {
        case .registered: Texts.text("Prompts appear here; Ctrl-C quits.")
        case .daemonLost: Texts.text("permd has left the bus; waiting for it to return.")
        case .refused(let error): Texts.text("permd refused to register this agent: %@", error.message)
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

// permctl request: requests permissions as an app would.

import ArgumentParser
import PermissionClient

struct RequestVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request", abstract: "Request permissions as an app would.",
        discussion: """
            The requesting app is permctl itself, and the answer holds for it. Shows the place in the queue while the \
            request waits; --wait limits the time. Exits 0 when everything is granted.
            """)

    @Argument(help: "One or more permissions.")
    var permissions: [Permission]
    @Option(parsing: .unconditional, help: ArgumentHelp("The reason to show in the prompt.", valueName: "text"))
    var reason: String?
    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("A title and a body to show before the question.", valueName: "text"))
    var explain: [String] = []
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Withdraw the request after this many seconds.", valueName: "seconds"))
    var wait: Double?
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if permissions.isEmpty { throw ValidationError("name at least one permission") }
        if Set(permissions).count < permissions.count { throw ValidationError("a permission is named twice") }
        if !explain.isEmpty, explain.count != 2 { throw ValidationError("--explain takes a title and a body") }
        if let wait, !(wait > 0 && wait <= 86_400) {
            throw ValidationError("--wait must be more than 0 and at most 86400 seconds")
        }
    }

    func run() async throws {
        let reasons = RequestReasons()
        let (result, wasShown) = try await ask(reasons)
        let record: Record = [
            "statuses": Dictionary(uniqueKeysWithValues: result.statuses.map { ($0.key.rawValue, $0.value.rawValue) }),
            "refused": result.firstRefused?.rawValue ?? "", "dismissed": result.isDismissed,
            "retry_after": result.retryAfter,
        ]
        try output.list(permissions, ["permission", "status"], empty: "", json: record) { permission in
            let status = result[permission]
            return [Cell(permission.rawValue), Cell(status.rawValue, status == .granted ? .good : .bad)]
        }
        if !output.json {
            if result.isDismissed {
                let again = result.retryAfter.map {
                    TerminalText("; it can prompt again in \(TimeText.span(Int64($0)))")
                }
                say("the request was dismissed; nothing was decided\(again ?? "")")
            }
            if !wasShown { for line in await reasons.whyNothingWasAsked(result) { say(line) } }
        }
        if !result.isGranted { throw Failure(.no) }
    }

    /// Returns the answer, and whether a prompt was on screen.
    private func ask(_ reasons: RequestReasons) async throws -> (RequestResult, wasShown: Bool) {
        let seconds = wait
        return try await withThrowingTaskGroup(of: (RequestResult, Bool)?.self) { group in
            group.addTask { try await follow(reasons) }
            if let seconds {
                group.addTask {
                    try await Task.sleep(for: .seconds(seconds))
                    return nil
                }
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let result = first else {
                throw Failure(
                    .retry, "no answer within \(TimeText.seconds(seconds ?? 0)); the request was withdrawn")
            }
            return result
        }
    }

    private func follow(_ reasons: RequestReasons) async throws -> (RequestResult, wasShown: Bool) {
        var texts: [Permission: String] = [:]
        if let reason { for permission in permissions { texts[permission] = reason } }
        let explanation = explain.count == 2 ? Explanation(title: explain[0], body: explain[1]) : nil
        let options = RequestOptions(token: reasons.token)
        let phases = PermissionCenter().phases(
            of: permissions, reasons: texts, explanation: explanation, options: options)
        var (wasShown, wasQueued) = (false, false)
        for try await phase in phases {
            switch phase {
            case .queued(let position):
                say(position == 0 ? "waiting: next" : "waiting: \(position) before this one")
                if !wasQueued, let why = await reasons.whyItWaits() { say(why) }
                wasQueued = true
            case .showing:
                say("the prompt is on the screen; answer it there")
                wasShown = true
            case .settled(let result): return (result, wasShown)
            }
        }
        throw CancellationError()
    }

    /// Prints progress to stderr, so that only the answer goes to stdout.
    private func say(_ text: TerminalText) {
        if !output.json { Output.errorLines(text) }
    }
}

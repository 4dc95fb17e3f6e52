// permctl request: ask as an app would.

import ArgumentParser
import PermissionClient

struct RequestVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "request", abstract: "Ask for permissions as an app would.",
        discussion: """
            permctl is the app that asks. Shows the place in the queue while it waits; without --wait, as long as the \
            prompt does. Exits 0 when everything is granted.
            """)

    @Argument(help: "One or more of \(Permission.listed).")
    var permissions: [Permission]
    @Option(help: ArgumentHelp("Why, for the person who is asked.", valueName: "text"))
    var reason: String?
    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("A title and a body to show before the question.", valueName: "text"))
    var explain: [String] = []
    @Option(help: ArgumentHelp("Give up after so many seconds.", valueName: "seconds"))
    var wait: Double?
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if permissions.isEmpty { throw ValidationError("name a permission") }
        if Set(permissions).count < permissions.count { throw ValidationError("a permission is named twice") }
        if !explain.isEmpty, explain.count != 2 { throw ValidationError("--explain takes a title and a body") }
        if let wait, !(wait > 0 && wait <= 86_400) { throw ValidationError("--wait takes seconds, up to a day") }
    }

    func run() async throws {
        let result = try await ask()
        var table = Table("permission", "status")
        for permission in permissions {
            let status = result[permission]
            table.add(Cell(permission.rawValue), Cell(status.rawValue, status == .granted ? .good : .bad))
        }
        try output.print(table, json: RequestRecordJSON(result))
        if result.isDismissed, !output.json { Output.complain("put off; nothing was decided") }
        if !result.isGranted { throw Failure(.no) }
    }

    private func ask() async throws -> RequestResult {
        let seconds = wait
        return try await withThrowingTaskGroup(of: RequestResult?.self) { group in
            group.addTask { try await follow() }
            if let seconds {
                group.addTask {
                    try await Task.sleep(for: .seconds(seconds))
                    return nil
                }
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let result = first else {
                throw Failure(
                    .retry, "nobody answered within \(wait.map { "\($0)" } ?? "") seconds; the request is withdrawn")
            }
            return result
        }
    }

    private func follow() async throws -> RequestResult {
        var reasons: [Permission: String] = [:]
        if let reason { for permission in permissions { reasons[permission] = reason } }
        let explanation = explain.count == 2 ? Explanation(title: explain[0], body: explain[1]) : nil
        let phases = PermissionCenter().phases(of: permissions, reasons: reasons, explanation: explanation)
        for try await phase in phases {
            switch phase {
            case .queued(let position): say(position == 0 ? "waiting: next" : "waiting: \(position) before this one")
            case .showing: say("on screen: answer there")
            case .settled(let result): return result
            }
        }
        throw CancellationError()
    }

    /// To stderr, so that the answer stands alone in a pipe.
    private func say(_ text: String) {
        if !output.json { Output.note("\(text)\n") }
    }
}

private struct RequestRecordJSON: Encodable {
    let statuses: [String: String]
    let refused: String
    let dismissed: Bool

    init(_ result: RequestResult) {
        statuses = Dictionary(uniqueKeysWithValues: result.statuses.map { ($0.key.rawValue, $0.value.rawValue) })
        refused = result.firstRefused?.rawValue ?? ""
        dismissed = result.isDismissed
    }
}

// Sets all decisions of a file, or none.

import PermissionClient

struct ImportRun {
    let settings: PermissionSettings
    /// The name of the file, for messages.
    let name: String

    init(_ settings: PermissionSettings, name: String) {
        self.settings = settings
        self.name = name
    }

    /// - Throws: ``Failure`` that names the decision that was refused and says whether anything was changed.
    func run(_ decisions: [ImportVerb.Imported]) async throws {
        let before = try await settings.decisions()
        for (index, decision) in decisions.enumerated() {
            do throws(ClientError) {
                try await settings.set(
                    decision.verdict, app: decision.app.description, permission: decision.permission,
                    duration: decision.duration)
            } catch {
                let kept = await takeBack(decisions[..<index], to: before)
                let status = error.kind == .daemon(.invalidArguments) ? ExitReason.data : ExitReason(error)
                let what: TerminalText =
                    "\(name): decision \(decision.number), \(ImportRun.words(decision)): \(error.message)"
                guard !kept.isEmpty else { throw Failure(status, what + "; nothing was imported") }
                let list = kept.map { TerminalText("  \(ImportRun.words($0))") }.joined(separator: "\n")
                throw Failure(status, what + "; these were imported and could not be taken back:\n" + list)
            }
        }
    }

    private static func words(_ decision: ImportVerb.Imported) -> String {
        "\(decision.permission.rawValue) for \(decision.app)"
    }

    /// Restores the earlier decisions, and returns those for which that failed. A decision that held for one process, or
    /// one that only a newer permd knows, cannot be restored.
    private func takeBack(
        _ decisions: ArraySlice<ImportVerb.Imported>, to before: [DecisionRow]
    ) async -> [ImportVerb.Imported] {
        var kept: [ImportVerb.Imported] = []
        for decision in decisions {
            let (app, item) = (decision.app.description, PromptItem.permission(decision.permission))
            let old = before.first { $0.app == decision.app && $0.item == item && $0.decision != .pause }
            do throws(ClientError) {
                if let old, let duration = old.holds, duration != .once, old.decision != .unknown {
                    try await settings.set(
                        old.decision == .grant ? .grant : .deny, app: app, permission: decision.permission,
                        duration: duration)
                } else {
                    try await settings.reset(app: app, item: item)
                    if old != nil { kept.append(decision) }
                }
            } catch {
                kept.append(decision)
            }
        }
        return kept
    }
}

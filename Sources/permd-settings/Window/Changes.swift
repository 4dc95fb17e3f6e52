// Changes of decisions, each with a message that can undo it.

import CAdwaita
import DesktopServices
import PermissionClient
import PermissionTexts

@MainActor
final class Changes {
    /// A decision to be set, or with nil to be removed.
    struct Step: Sendable, Hashable {
        let app: AppID
        let item: PromptItem?
        let verdict: Verdict?
        let duration: Duration

        static func reset(_ app: AppID, _ item: PromptItem?) -> Step {
            Step(app: app, item: item, verdict: nil, duration: .always)
        }

        /// What brings back a decision; nil if that is impossible: a decision for one process and a pause cannot be
        /// set.
        static func back(_ row: DecisionRow) -> Step? {
            guard let word = row.duration, let duration = Duration(word, until: row.until), duration != .once else {
                return nil
            }
            let verdict: Verdict? =
                switch row.decision {
                case .grant: .grant
                case .deny: .deny
                case .pause, .unknown: nil
                }
            return verdict.map { Step(app: row.app, item: row.item, verdict: $0, duration: duration) }
        }
    }

    private let model: Model
    private let overlay: Widget
    /// Seconds for which a message is shown.
    private static let patience: guint = 15
    /// What undoes the last change, once.
    private var lastUndo: [Step] = []
    private var lastToast: OpaquePointer?
    /// Called when a change was refused, so that what is shown becomes true again.
    let onFailure = Link<AppID>()

    init(_ model: Model, _ overlay: Widget) {
        self.model = model
        self.overlay = overlay
    }

    /// - Parameter before: The decision or pause in force.
    func apply(_ selection: Selection, _ app: AppID, _ permission: Permission, before: DecisionRow?) {
        let item = PromptItem.permission(permission)
        let decision = selection.decision(now: TimeText.now())
        let step = Step(
            app: app, item: item, verdict: decision?.verdict, duration: decision?.duration ?? .always)
        let text = Texts.text(
            "%@: %@ is now “%@”", Texts.isolated(model.names.label(of: app).name), Texts.name(permission),
            selection.label)
        apply([step], text, undo: Changes.undo(app, item, before))
    }

    /// Removes all decisions about an app.
    func forget(_ app: AppID) {
        let text = Texts.text("%@ is forgotten and will ask again", Texts.isolated(model.names.label(of: app).name))
        apply([.reset(app, nil)], text, undo: model.decisions(app).compactMap(Step.back))
    }

    /// Deletes what a portal remembers, which cannot be undone.
    func forget(_ rows: [PortalRow], _ text: String, then done: @escaping @MainActor () -> Void) {
        inBackground { [settings = model.settings] () async throws(ClientError) in
            for row in rows { try await settings.forget(row) }
        } then: { [self] result in
            if case .failure(let error) = result {
                report(Texts.text("Nothing was changed: %@", SafeText.line(error.message)), undo: [])
            } else {
                report(text, undo: [])
            }
            done()
        }
    }

    /// Switches a permission off or on for every app. Its switch undoes it.
    func turn(_ permission: Permission, on: Bool, orElse restore: @escaping @MainActor () -> Void) {
        inBackground { [settings = model.settings] () async throws(ClientError) in
            try await settings.setSwitch(permission, on: on)
        } then: { [self] result in
            guard case .failure(let error) = result else { return }
            report(Texts.text("Nothing was changed: %@", SafeText.line(error.message)), undo: [])
            restore()
        }
    }

    /// Takes back what lets an app use the device. A reset would not do: an enforcement point would ask the person
    /// again at once, or let a program outside a sandbox pass.
    func stop(_ use: UseRow, _ app: AppID, _ name: String) {
        let item = PromptItem.permission(use.permission)
        let step = Step(app: app, item: item, verdict: .deny, duration: UseRow.refusalWhenStopped)
        let pattern =
            use.isCut
            ? Texts.pattern("%@ may not use %@ until you log out")
            : Texts.pattern("%@ may not use %@ until you log out, but still has it open: quit it to end that")
        let rows = model.decisions(app).filter { $0.item == item }
        let before = rows.first { $0.decision != .pause }
        apply(
            [step], Texts.filled(pattern, [Texts.isolated(name), Texts.name(use.permission)]),
            undo: Changes.undo(app, item, before))
    }

    /// What brings back the decision that was in force; nothing if that is impossible.
    private static func undo(_ app: AppID, _ item: PromptItem, _ before: DecisionRow?) -> [Step] {
        guard let before else { return [.reset(app, item)] }
        return [Step.back(before)].compactMap(\.self)
    }

    private func apply(_ steps: [Step], _ text: String, undo: [Step]) {
        lastUndo = []
        inBackground { [settings = model.settings] () async throws(ClientError) in
            for step in steps { try await Changes.run(step, settings) }
        } then: { [self] result in
            switch result {
            case .success: report(text, undo: undo)
            case .failure(let error):
                report(Texts.text("Nothing was changed: %@", SafeText.line(error.message)), undo: [])
                if let app = steps.first?.app { onFailure.follow(app) }
            }
        }
    }

    /// A decision that has ended meanwhile is not brought back.
    private nonisolated static func run(_ step: Step, _ settings: PermissionSettings) async throws(ClientError) {
        let isOver = step.duration.end.map { $0 <= TimeText.now() } ?? false
        guard let verdict = step.verdict, let permission = step.item?.permission, !isOver else {
            try await settings.reset(app: step.app.description, item: step.item)
            return
        }
        try await settings.set(
            verdict, app: step.app.description, permission: permission, duration: step.duration, by: .person)
    }

    private func report(_ text: String, undo: [Step]) {
        lastUndo = undo
        let toast = cadw_toast_new(text, undo.isEmpty ? nil : Texts.text("Undo"), Changes.patience)!
        if !undo.isEmpty {
            toast.on("button-clicked") { [self] in self.undo() }
        }
        // Only the last change can be undone, so only its message is shown.
        if let last = lastToast {
            adw_toast_dismiss(last)
            g_object_unref(UnsafeMutableRawPointer(last))
        }
        g_object_ref(UnsafeMutableRawPointer(toast))
        lastToast = toast
        cadw_toast_show(overlay, toast)
    }

    /// Undoes the last change, also after its message has gone.
    func undo() {
        let steps = lastUndo
        guard !steps.isEmpty else { return }
        lastUndo = []
        apply(steps, Texts.text("Undone"), undo: [])
    }
}

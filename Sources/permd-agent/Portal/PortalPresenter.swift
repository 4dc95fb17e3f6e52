// Borrows the desktop's own dialog: each question of a prompt as one AccessDialog of org.freedesktop.impl.portal.Access.

import DBus
import PermissionClient

/// Every desktop answers a little differently; what is not clearly a person's word is none.
@LoopActor
final class PortalPresenter: PromptPresenter {
    /// Milliseconds before which an answer is no person's: a click that was meant for something else, or a refusal to
    /// show a second dialog.
    static let reaction: Int64 = 500
    /// Milliseconds until a dialog is tried again, and how often: another one may be open.
    static let pauseBeforeRetry: Int64 = 1000
    static let tries = 4

    private static let path = "/org/freedesktop/portal/desktop"

    private let connection: Connection
    private let backend: PortalBackend
    private var lastHandle = 0

    /// On a connection of its own to the session bus.
    static func open(_ backend: PortalBackend) throws(ClientError) -> PortalPresenter {
        do throws(BusError) { return PortalPresenter(try Connection.open(.session), backend) } catch {
            throw ClientError(kind: .noBus, message: "there is no session bus: \(error.message)", isRetryable: true)
        }
    }

    init(_ connection: Connection, _ backend: PortalBackend) {
        self.connection = connection
        self.backend = backend
    }

    nonisolated func present(_ prompt: AgentPrompt) async -> AgentAnswer { await ask(prompt) }

    private func ask(_ prompt: AgentPrompt) async -> AgentAnswer {
        if let explanation = prompt.explanation {
            let dialog = PortalDialog(explanation, prompt)
            switch await show(dialog) {
            case .allowed: break
            case .refused, .cancelled: return .dismissed
            case .failed(let why): return .failed(why)
            }
        }
        var decisions: [Permission: ItemDecision] = [:]
        for (index, item) in prompt.items.enumerated() {
            let dialog = PortalDialog(item, number: index + 1, prompt)
            switch await show(dialog) {
            case .allowed(let duration):
                decisions[item.permission] = ItemDecision(verdict: .grant, duration: duration)
            // GNOME Shell and KDE say the same for Escape: so it is no word for ever.
            case .refused: decisions[item.permission] = ItemDecision(verdict: .deny, duration: .once)
            case .cancelled: break
            case .failed(let why): return .failed(why)
            }
        }
        return decisions.isEmpty ? .dismissed : .answered(decisions)
    }

    private enum Outcome {
        case allowed(Duration)
        case refused
        case cancelled
        case failed(String)
    }

    /// Shows a dialog until a person has answered it.
    private func show(_ dialog: PortalDialog) async -> Outcome {
        var last = "the desktop's dialog did not appear"
        for attempt in 0..<PortalPresenter.tries {
            if attempt > 0 { await pause(PortalPresenter.pauseBeforeRetry) }
            if Task.isCancelled { return .failed("withdrawn") }
            let began = Loop.uptimeMilliseconds()
            switch await call(dialog) {
            case .failure(let error):
                last = error.message
                // Its owner went, or there is none: another try finds no other.
                guard error.name.hasSuffix("LimitsExceeded") || error.name.hasSuffix("Failed") else {
                    return .failed(last)
                }
            case .success(let message):
                guard message.body.count == 2, let response = message.body[0].uint32Value else {
                    return .failed("the desktop's dialog answered \(message.signature)")
                }
                // Faster than a person: a click in flight, or "there is one open already".
                guard Loop.uptimeMilliseconds() - began >= PortalPresenter.reaction else {
                    last = "the desktop's dialog was answered before anybody could read it"
                    continue
                }
                switch response {
                case 0: return .allowed(PortalDialog.duration(of: message.body[1]))
                case 1: return .refused
                default: return .cancelled
                }
            }
        }
        return .failed(last)
    }

    /// The person may take any time; a withdrawn prompt is closed by its handle.
    private func call(_ dialog: PortalDialog) async -> Result<Message, BusError> {
        lastHandle += 1
        let handle = "\(PortalPresenter.path)/request/permd/\(lastHandle)"
        let call = Message.call(
            destination: backend.busName, path: PortalPresenter.path, interface: PortalBackends.access,
            member: "AccessDialog", dialog.arguments(handle: handle))
        do throws(BusError) {
            return .success(try await connection.call(call, timeoutMilliseconds: nil))
        } catch {
            if Task.isCancelled {
                connection.send(
                    .call(
                        destination: backend.busName, path: handle,
                        interface: "org.freedesktop.impl.portal.Request", member: "Close", noReply: true))
            }
            return .failure(error)
        }
    }

    private func pause(_ milliseconds: Int64) async {
        await withCheckedContinuation { done in Loop.shared.after(milliseconds: milliseconds) { done.resume() } }
    }
}

/// The texts and choices of one dialog.
struct PortalDialog {
    private let appID: String
    private let parentWindow: String
    private let title: String
    private let subtitle: String
    private let body: String
    private let grant: String
    private let deny: String
    private let icon: String
    private let durations: [Duration.Word]

    init(_ explanation: Explanation, _ prompt: AgentPrompt) {
        self.init(
            prompt, title: explanation.title, subtitle: Texts.text("%@ says:", Texts.isolated(prompt.displayName)),
            body: explanation.body, grant: Texts.text("Continue"), deny: Texts.text("Not Now"), durations: [])
    }

    init(_ item: AgentPrompt.Item, number: Int, _ prompt: AgentPrompt) {
        var lines: [String] = []
        if let unknown = Texts.unknownProgram(prompt) { lines.append(unknown) }
        if !item.deviceName.isEmpty { lines.append(Texts.text("Device: %@", Texts.isolated(item.deviceName))) }
        lines.append(Texts.reason(item))
        if prompt.items.count > 1 { lines.append(Texts.text("%@ of %@", "\(number)", "\(prompt.items.count)")) }
        self.init(
            prompt, title: Texts.text("Permission request"),
            subtitle: Texts.question(item.permission, Texts.isolated(prompt.displayName)),
            body: lines.joined(separator: "\n"), grant: Texts.text("Allow"), deny: Texts.text("Don't Allow"),
            durations: [.once, .session, .always].filter(prompt.durations.contains))
    }

    private init(
        _ prompt: AgentPrompt, title: String, subtitle: String, body: String, grant: String, deny: String,
        durations: [Duration.Word]
    ) {
        appID = prompt.app.hasPrefix("flatpak:") ? String(prompt.app.dropFirst("flatpak:".count)) : ""
        parentWindow = prompt.parentWindow
        icon = prompt.appIcon
        self.title = title
        self.subtitle = subtitle
        self.body = body
        self.grant = grant
        self.deny = deny
        self.durations = durations
    }

    /// `osssssa{sv}`
    func arguments(handle: String) -> [Value] {
        var options: [String: Value] = [
            "modal": .bool(true), "grant_label": text(grant), "deny_label": text(deny),
        ]
        if !icon.isEmpty { options["icon"] = .string(icon) }
        if !durations.isEmpty {
            let values = durations.map { Value.structure([.string($0.rawValue), text(PortalDialog.label($0))]) }
            options["choices"] = .array(
                of: "(ssa(ss)s)",
                [
                    .structure([
                        .string("duration"), text(Texts.text("How long")), .array(of: "(ss)", values),
                        .string(Duration.Word.once.rawValue),
                    ])
                ])
        }
        return [
            .objectPath(handle), .string(appID), .string(parentWindow), text(title), text(subtitle), text(body),
            .properties(options),
        ]
    }

    /// Some backends take a text for a printf format: the full-width sign looks the same and is none.
    private func text(_ text: String) -> Value { .string(text.replacing("%", with: "％")) }

    private static func label(_ duration: Duration.Word) -> String {
        switch duration {
        case .once: Texts.text("Only This Time")
        case .session: Texts.text("Until I Log Out")
        case .until, .always: Texts.text("Always Allow")
        }
    }

    /// The choice among the results. A missing one means once.
    static func duration(of results: Value) -> Duration {
        switch word(in: results) {
        case Duration.Word.session.rawValue: .session
        case Duration.Word.always.rawValue: .always
        default: .once
        }
    }

    /// `choices` is a(ss) in the specification and a table with portal-gtk; GNOME Shell has the choices in the results.
    private static func word(in value: Value) -> String? {
        if let table = value.stringTable { return table["duration"] }
        if let table = value.properties {
            return table["duration"]?.stringValue ?? table.values.lazy.compactMap { word(in: $0) }.first
        }
        for pair in value.elements ?? [] {
            let words = pair.elements?.compactMap(\.stringValue) ?? []
            if words.count == 2, words[0] == "duration" { return words[1] }
        }
        return nil
    }
}

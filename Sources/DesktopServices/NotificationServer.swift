// Notifications (Desktop Notifications Specification): each has a key, and a newer one with the same key takes its place.

package import DBus
import PermissionClient

/// What a person can choose in a notification.
package protocol NotificationCommand: Hashable, Sendable {
    /// The name of its action, which the server repeats.
    var actionName: String { get }
}

package enum NotificationUrgency: UInt8, Sendable {
    /// Seen when a person looks.
    case low
    case normal
    /// Stays until it is closed, also above full-screen windows.
    case critical
}

/// A notification. Its texts are plain.
package struct Notification<Command: NotificationCommand>: Sendable, Hashable {
    package var summary: String
    package var body: String
    package var icon: String
    package var urgency: NotificationUrgency
    /// Shown as buttons, if the server has buttons.
    package var actions: [Action]

    package struct Action: Sendable, Hashable {
        package let command: Command
        package let label: String

        package init(command: Command, label: String) {
            self.command = command
            self.label = label
        }
    }

    package init(
        summary: String, body: String = "", icon: String, urgency: NotificationUrgency = .normal, actions: [Action] = []
    ) {
        self.summary = summary
        self.body = body
        self.icon = icon
        self.urgency = urgency
        self.actions = actions
    }
}

private enum Notifications {
    static let name = "org.freedesktop.Notifications"
    static let path = "/org/freedesktop/Notifications"
}

/// Shows notifications, each with a key, through the desktop's server, which the bus starts if necessary.
@LoopActor
package final class NotificationServer<Key: Hashable & Sendable, Command: NotificationCommand> {
    private struct Shown {
        let id: UInt32
        let notification: Notification<Command>
    }

    private let connection: Connection
    package var onCommand: @LoopActor (Command, _ token: String) -> Void = { _, _ in }
    /// Called when a person, or the server, has closed a notification.
    package var onClosed: @LoopActor (Key) -> Void = { _ in }
    private var shown: [Key: Shown] = [:]
    /// The unique name of the server, once it was identified.
    private var owner: String?
    private var capabilities: Set<String> = []
    /// What lets a window come to the front, of the notification that was chosen last.
    private var token = (id: UInt32(0), text: "")
    private var isListening = false
    /// Changes are made one after the other: the number of a notification is known only when the server has replied.
    private var changes: [@LoopActor @Sendable () async -> Void] = []
    private var isChanging = false

    /// The desktop entry of the program.
    private let entry: String

    package init(_ connection: Connection, entry: String) {
        self.connection = connection
        self.entry = entry
    }

    package func show(_ notification: Notification<Command>, _ key: Key) {
        change { [self] in await send(notification, key) }
    }

    package func close(_ key: Key) {
        change { [self] in
            guard let old = shown.removeValue(forKey: key), let owner else { return }
            connection.send(
                call(owner, "CloseNotification", [.uint32(old.id)], noReply: true))
        }
    }

    private func change(_ body: @escaping @LoopActor @Sendable () async -> Void) {
        changes.append(body)
        guard !isChanging else { return }
        isChanging = true
        Task(executorPreference: Loop.shared) { await self.makeChanges() }
    }

    private func makeChanges() async {
        while !changes.isEmpty { await changes.removeFirst()() }
        isChanging = false
    }

    // MARK: Calls

    private func send(_ notification: Notification<Command>, _ key: Key) async {
        guard let server = await find() else { return onClosed(key) }
        let hints: [String: Value] = [
            "urgency": .byte(notification.urgency.rawValue), "category": .string("device"),
            "desktop-entry": .string(entry),
        ]
        let hasButtons = capabilities.contains("actions")
        let actions = hasButtons ? notification.actions.flatMap { [$0.command.actionName, $0.label] } : []
        let body = capabilities.contains("body-markup") ? Markup.escaped(notification.body) : notification.body
        let message = call(
            server, "Notify",
            [
                .string(""), .uint32(shown[key]?.id ?? 0), .string(notification.icon), .string(notification.summary),
                .string(body), .strings(actions), .properties(hints), .int32(-1),
            ])
        do throws(BusError) {
            let reply = try await connection.call(message)
            guard let id = reply.body.first?.uint32Value, owner == server else { return lost(key) }
            shown[key] = Shown(id: id, notification: notification)
        } catch {
            // It left before its owner change was heard of.
            if error.name == BusError.Name.serviceUnknown, owner == server { owner = nil }
            lost(key)
        }
    }

    private func lost(_ key: Key) {
        shown[key] = nil
        onClosed(key)
    }

    private func call(_ owner: String, _ member: String, _ body: [Value] = [], noReply: Bool = false) -> Message {
        .call(
            destination: owner, path: Notifications.path, interface: Notifications.name, member: member, body,
            noReply: noReply, noAutoStart: true)
    }

    /// Returns the server, which the bus starts if necessary; nil if there is none, or if it is sandboxed: it would learn
    /// what is in use.
    private func find() async -> String? {
        listen()
        if let owner { return owner }
        guard let found = try? await TrustedOwner.find(Notifications.name, on: connection) else { return nil }
        let reply = try? await connection.call(
            call(found, "GetCapabilities"))
        guard let words = reply?.body.first?.strings else { return nil }
        capabilities = Set(words)
        owner = found
        return found
    }

    // MARK: Signals

    private func listen() {
        guard !isListening else { return }
        isListening = true
        connection.onOwnerChange(of: Notifications.name) { [weak self] now in
            guard let self, now != owner else { return }
            owner = nil
            let lost = shown.keys
            shown = [:]
            for key in lost { onClosed(key) }
        }
        connection.onSignal(
            sender: Notifications.name, path: Notifications.path, interface: Notifications.name
        ) { [weak self] message in
            guard let self, message.sender == owner, let id = message.body.first?.uint32Value, message.body.count > 1
            else { return }
            // In order: the reply with the number of a notification arrives before the signals about it, but is handled
            // later.
            change { [self] in heard(message.member ?? "", id, message.body[1].stringValue ?? "") }
        }
    }

    private func heard(_ member: String, _ id: UInt32, _ text: String) {
        switch member {
        case "ActivationToken": token = (id, text)
        case "ActionInvoked": chosen(id, text)
        case "NotificationClosed": closed(id)
        default: break
        }
    }

    private func chosen(_ id: UInt32, _ name: String) {
        guard let entry = shown.first(where: { $0.value.id == id }),
            let action = entry.value.notification.actions.first(where: { $0.command.actionName == name })
        else { return }
        onCommand(action.command, token.id == id ? token.text : "")
    }

    private func closed(_ id: UInt32) {
        guard let key = shown.first(where: { $0.value.id == id })?.key else { return }
        shown[key] = nil
        onClosed(key)
    }
}

// Says in a notification that a prompt waits where the person does not see it.

import DBus
import DesktopServices
import PermissionClient
import PermissionTexts

@LoopActor
final class PromptNotice {
    private enum Key: Hashable, Sendable { case prompt }

    private enum Command: String, NotificationCommand {
        /// A click on the notification itself.
        case body = "default"
        case button = "show"

        var actionName: String { rawValue }
    }

    private var server: NotificationServer<Key, Command>?
    /// Called when the person wants to see the prompt, with the token that lets its window come to the front; empty if
    /// there is none.
    var onChosen: @Sendable (_ token: String) -> Void = { _ in }

    nonisolated init() {}

    func show(_ question: String) {
        guard let server = server ?? connect() else { return }
        let label = Texts.text("Show")
        let actions = [Command.body, .button].map { Notification.Action(command: $0, label: label) }
        server.show(
            Notification(summary: question, icon: AgentProgram.entry, urgency: .critical, actions: actions), .prompt)
    }

    func close() { server?.close(.prompt) }

    private func connect() -> NotificationServer<Key, Command>? {
        guard let connection = try? Connection.open(.session) else { return nil }
        let server = NotificationServer<Key, Command>(connection, entry: AgentProgram.entry)
        server.onCommand = { [unowned self] _, token in onChosen(token) }
        self.server = server
        return server
    }
}

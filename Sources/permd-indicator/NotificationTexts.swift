// The texts of notifications.

import DesktopServices
import PermissionClient
import PermissionTexts

extension UseTexts {
    /// An app uses a device without a grant.
    static func ungranted(_ group: UseGroup) -> Notification {
        var body = [sentence(group.status)]
        if !group.isCut {
            body.append(Texts.text("It has opened the device itself. Only quitting it ends that."))
        }
        var actions: [Notification.Action] = []
        if group.canBeStopped {
            actions.append(Notification.Action(command: .stop(group.used), label: Texts.text("Stop")))
        }
        actions.append(Notification.Action(command: .openPermissions, label: Texts.text("Permissions…")))
        let words = PermissionText.of(group.used.permission)
        return Notification(
            summary: Texts.text(words.isUsing, group.shownName), body: body.joined(separator: " "), icon: words.icon,
            actions: actions)
    }

    /// The use is over. Nothing can be chosen, so that the program may end.
    static func over(_ group: UseGroup) -> Notification {
        let words = PermissionText.of(group.used.permission)
        return Notification(
            summary: Texts.text(words.hasUsed, group.shownName), body: sentence(group.status), icon: words.icon)
    }

    static func granted(_ grant: NewGrant, name: String) -> Notification {
        let words = PermissionText.of(grant.used.permission)
        let undo = Notification.Action(command: .undo(grant), label: Texts.text("Undo"))
        return Notification(
            summary: Texts.text(words.mayAlways, Texts.isolated(name)), icon: words.icon, actions: [undo])
    }

    /// So many apps are named at most.
    private static let mostNamed = 6

    /// - Parameter apps: Their names, with what was taken back from each.
    static func takenBack(
        _ apps: [(name: String, permissions: [Permission])], _ grants: [UsedPermission]
    ) -> Notification {
        let names = apps.prefix(mostNamed).map { app in
            let permissions = app.permissions.map(Texts.name).joined(separator: ", ")
            return "\(Texts.isolated(app.name)): \(permissions)"
        }
        let rest = apps.count > mostNamed ? ["…"] : []
        return Notification(
            summary: Texts.text("Taken back, because nobody used it"),
            body: (names + rest).joined(separator: "\n"), icon: "edit-undo-symbolic", urgency: .low,
            actions: [
                Notification.Action(command: .giveBack(grants), label: Texts.text("Undo")),
                Notification.Action(command: .openPermissions, label: Texts.text("Permissions…")),
            ])
    }

    private static func sentence(_ status: Status) -> String {
        switch status {
        case .granted, .unavailable: ""
        case .denied: Texts.text("You have refused it.")
        case .restricted: Texts.text("The administrator forbids it.")
        case .undetermined: Texts.text("You were not asked.")
        }
    }
}

// The texts of notifications.

import PermissionClient
import PermissionTexts

extension UseTexts {
    /// An app uses a device without a grant.
    static func ungranted(_ group: UseGroup) -> Notification {
        var body = [sentence(group.status)]
        if group.isOpenedDirectly {
            body.append(Texts.text("It has opened the device itself. Only quitting it ends that."))
        }
        var actions: [Notification.Action] = []
        if group.canBeStopped {
            actions.append(Notification.Action(choice: .stop(group.used), label: Texts.text("Stop")))
        }
        actions.append(Notification.Action(choice: .openPermissions, label: Texts.text("Permissions…")))
        return Notification(
            summary: using(group.used.permission, group.shownName), body: body.joined(separator: " "),
            icon: PermissionWords.of(group.used.permission).icon, actions: actions)
    }

    /// The use is over. Nothing can be chosen, so that the program may end.
    static func over(_ group: UseGroup) -> Notification {
        Notification(
            summary: used(group.used.permission, group.shownName), body: sentence(group.status),
            icon: PermissionWords.of(group.used.permission).icon)
    }

    static func granted(_ grant: NewGrant, name: String) -> Notification {
        let undo = Notification.Action(choice: .undo(grant), label: Texts.text("Undo"))
        return Notification(
            summary: mayUse(grant.used.permission, Texts.isolated(name)),
            icon: PermissionWords.of(grant.used.permission).icon, actions: [undo])
    }

    private static func sentence(_ status: Status) -> String {
        switch status {
        case .granted, .unavailable: ""
        case .denied: Texts.text("You have refused it.")
        case .restricted: Texts.text("The administrator forbids it.")
        case .undetermined: Texts.text("You were not asked.")
        }
    }

    private static func using(_ permission: Permission, _ name: String) -> String {
        switch permission {
        case .camera: Texts.text("%@ is using your camera", name)
        case .microphone: Texts.text("%@ is using your microphone", name)
        case .bluetooth: Texts.text("%@ is using Bluetooth", name)
        case .location: Texts.text("%@ gets your location", name)
        }
    }

    private static func used(_ permission: Permission, _ name: String) -> String {
        switch permission {
        case .camera: Texts.text("%@ has used your camera", name)
        case .microphone: Texts.text("%@ has used your microphone", name)
        case .bluetooth: Texts.text("%@ has used Bluetooth", name)
        case .location: Texts.text("%@ has got your location", name)
        }
    }

    private static func mayUse(_ permission: Permission, _ name: String) -> String {
        switch permission {
        case .camera: Texts.text("%@ may always use your camera", name)
        case .microphone: Texts.text("%@ may always use your microphone", name)
        case .bluetooth: Texts.text("%@ may always use Bluetooth", name)
        case .location: Texts.text("%@ may always know your location", name)
        }
    }
}

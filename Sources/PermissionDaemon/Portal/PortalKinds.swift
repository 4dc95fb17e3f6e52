// The subject of a portal's dialog, and the place where the portal stores the answer.
//
// The text of a dialog is translated, but its icon is the same in every language. The icons here are those of
// xdg-desktop-portal 1.12 to 1.22; only the Background portal sets none.

import DBus
import PermissionCore
import PermissionModel

enum PortalKinds {
    /// An entry of org.freedesktop.impl.portal.PermissionStore.
    struct Place: Hashable {
        let table: String
        let id: String
    }

    private static let icons: [String: Question] = [
        "camera-web-symbolic": .permission(.camera), "audio-input-microphone-symbolic": .permission(.microphone),
        "find-location-symbolic": .permission(.location), "audio-speakers-symbolic": .portal(.speakers),
        "applets-screenshooter-symbolic": .portal(.screenshot),
        "preferences-desktop-wallpaper-symbolic": .portal(.wallpaper), "": .portal(.background),
    ]

    /// The Background portal stores only grants, so no entry of it has to be deleted.
    private static let places: [Question: Place] = [
        .permission(.camera): Place(table: "devices", id: "camera"),
        .permission(.microphone): Place(table: "devices", id: "microphone"),
        .permission(.location): Place(table: "location", id: "location"),
        .portal(.speakers): Place(table: "devices", id: "speakers"),
        .portal(.screenshot): Place(table: "screenshot", id: "screenshot"),
        .portal(.wallpaper): Place(table: "wallpaper", id: "wallpaper"),
    ]

    /// The places of permissions, about which permd keeps decisions, in a stable order.
    static let decided = places.filter { $0.key.permission != nil }.sorted { $0.key < $1.key }

    static func question(icon: String) -> Question { icons[icon] ?? .portal(.other) }

    static func place(of question: Question) -> Place? { places[question] }

    static func question(at place: Place) -> Question? { places.first { $0.value == place }?.key }

    /// Returns the verdict of an entry, or nil if it is undecided. An entry is `yes` or `no`; for the location, it is
    /// the accuracy and the time of the last use.
    static func verdict(_ texts: [String], of question: Question) -> Verdict? {
        if question == .permission(.location) {
            guard texts.count == 2, let accuracy = texts.first, !accuracy.isEmpty else { return nil }
            return accuracy == "NONE" ? .deny : .grant
        }
        switch texts {
        case ["yes"]: return .grant
        case ["no"]: return .deny
        default: return nil
        }
    }

    /// Returns the decided entries of an `a{sas}`, which are by app ID.
    static func verdicts(_ value: Value?, of question: Question) -> [PortalKey: Verdict] {
        guard case .dictionary("s", "as", let entries) = value else { return [:] }
        var verdicts: [PortalKey: Verdict] = [:]
        for entry in entries {
            guard let app = entry.key.stringValue, let texts = entry.value.strings else { continue }
            verdicts[PortalKey(appID: app, question: question)] = verdict(texts, of: question)
        }
        return verdicts
    }
}

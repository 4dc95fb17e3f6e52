// What a portal's dialog is about, and where the portal keeps the answer: the one table of both.
//
// A dialog says what it is about in words for people only. Its icon is the same in every language; these are the icons of
// xdg-desktop-portal 1.12 to 1.22, of which only the Background portal sets none.

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

    /// The Background portal stores nothing but a yes, so there is nothing of it to take back.
    private static let places: [Question: Place] = [
        .permission(.camera): Place(table: "devices", id: "camera"),
        .permission(.microphone): Place(table: "devices", id: "microphone"),
        .permission(.location): Place(table: "location", id: "location"),
        .portal(.speakers): Place(table: "devices", id: "speakers"),
        .portal(.screenshot): Place(table: "screenshot", id: "screenshot"),
        .portal(.wallpaper): Place(table: "wallpaper", id: "wallpaper"),
    ]

    /// The places of what decisions are kept for, in a stable order.
    static let decided = places.filter { $0.key.permission != nil }.sorted { $0.key < $1.key }

    static func question(icon: String) -> Question { icons[icon] ?? .portal(.other) }

    static func place(of question: Question) -> Place? { places[question] }

    static func question(at place: Place) -> Question? { places.first { $0.value == place }?.key }

    /// What an entry says: `yes`, `no`; for a location its accuracy and when it was used last. Nil is undecided.
    static func verdict(_ words: [String], of question: Question) -> Verdict? {
        if question == .permission(.location) {
            guard words.count == 2, let accuracy = words.first, !accuracy.isEmpty else { return nil }
            return accuracy == "NONE" ? .deny : .grant
        }
        switch words {
        case ["yes"]: return .grant
        case ["no"]: return .deny
        default: return nil
        }
    }

    /// The entries of an `a{sas}`, by app id; undecided ones are none.
    static func verdicts(_ value: Value?, of question: Question) -> [ExactText: Verdict] {
        guard case .dictionary("s", "as", let entries) = value else { return [:] }
        var verdicts: [ExactText: Verdict] = [:]
        for entry in entries {
            guard let app = entry.key.stringValue, let words = entry.value.strings else { continue }
            verdicts[ExactText(app)] = verdict(words, of: question)
        }
        return verdicts
    }
}

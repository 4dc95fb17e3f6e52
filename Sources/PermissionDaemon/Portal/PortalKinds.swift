// The subject of a portal's dialog, and the entry in which the portal stores the answer.
//
// The text of a dialog is translated, but its icon is the same in every language. The icons here are those of
// xdg-desktop-portal 1.12 to 1.22; only the Background portal sets none.

import DBus
import PermissionCore
import PermissionModel

enum PortalKinds {
    /// An entry of org.freedesktop.impl.portal.PermissionStore.
    struct StoreEntry: Hashable {
        let table: String
        let id: String
    }

    private static let icons: [String: PromptItem] = [
        "camera-web-symbolic": .permission(.camera), "audio-input-microphone-symbolic": .permission(.microphone),
        "find-location-symbolic": .permission(.location), "audio-speakers-symbolic": .portal(.speakers),
        "applets-screenshooter-symbolic": .portal(.screenshot),
        "preferences-desktop-wallpaper-symbolic": .portal(.wallpaper), "": .portal(.background),
    ]

    /// The Background portal stores only grants, so no entry of it has to be deleted.
    private static let entries: [PromptItem: StoreEntry] = [
        .permission(.camera): StoreEntry(table: "devices", id: "camera"),
        .permission(.microphone): StoreEntry(table: "devices", id: "microphone"),
        .permission(.location): StoreEntry(table: "location", id: "location"),
        .portal(.speakers): StoreEntry(table: "devices", id: "speakers"),
        .portal(.screenshot): StoreEntry(table: "screenshot", id: "screenshot"),
        .portal(.wallpaper): StoreEntry(table: "wallpaper", id: "wallpaper"),
    ]

    /// The entries of permissions, about which permd keeps decisions, in a stable order.
    static let decided = entries.filter { $0.key.permission != nil }.sorted { $0.key < $1.key }

    static func item(icon: String) -> PromptItem { icons[icon] ?? .portal(.other) }

    static func entry(of item: PromptItem) -> StoreEntry? { entries[item] }

    static func item(at entry: StoreEntry) -> PromptItem? { entries.first { $0.value == entry }?.key }

    /// Returns the verdict of an entry, or nil if it is undecided. An entry is `yes` or `no`; for the location, it is
    /// the accuracy and the time of the last use.
    static func verdict(_ texts: [String], of item: PromptItem) -> Verdict? {
        if item == .permission(.location) {
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
    static func verdicts(_ value: Value?, of item: PromptItem) -> [PortalKey: Verdict] {
        guard case .dictionary("s", "as", let entries) = value else { return [:] }
        var verdicts: [PortalKey: Verdict] = [:]
        for entry in entries {
            guard let app = entry.key.stringValue, let texts = entry.value.strings else { continue }
            verdicts[PortalKey(appID: app, item: item)] = verdict(texts, of: item)
        }
        return verdicts
    }
}

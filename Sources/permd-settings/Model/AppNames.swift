// The name and the icon of an app, from its desktop entry (Desktop Entry Specification).

import PermissionClient
import Synchronization
import System

/// What a person knows an app by. Apps provide it, so it is only shown after `SafeText` has cleaned it.
struct AppLabel: Sendable, Hashable {
    var name: String
    /// A name in the icon theme; empty if there is none. Files that an app names as its icon are not read.
    var icon: String
}

/// Reads desktop entries once each. May be used on any thread.
final class AppNames: Sendable {
    private let known = Mutex<[AppID: AppLabel]>([:])

    func label(of app: AppID) -> AppLabel {
        if let label = known.withLock({ $0[app] }) { return label }
        let label = AppNames.read(app)
        known.withLock { $0[app] = label }
        return label
    }

    private static func read(_ app: AppID) -> AppLabel {
        let entry = AppDirectory.entry(for: app)
        let name = SafeText.name(entry.name)
        return AppLabel(
            name: name.isEmpty ? SafeText.name(AppDirectory.plainName(app)) : name,
            icon: entry.icon.contains("/") ? "" : entry.icon)
    }
}

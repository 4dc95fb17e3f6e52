// The apps that are listed: those with decisions, in the history, or in use.

import CAdwaita
import PermissionClient

struct AppEntry: Sendable, Equatable {
    let app: AppID
    let label: AppLabel
    /// Its decisions and pauses, by question.
    let decisions: [DecisionRow]
    /// What a search looks in, in lower case.
    let searched: String

    init(_ app: AppID, _ decisions: [DecisionRow], _ names: AppNames) {
        (self.app, self.decisions, label) = (app, decisions, names.label(of: app))
        searched = AppEntry.searched(app, label)
    }

    func matches(_ search: String) -> Bool { search.isEmpty || searched.contains(search) }

    /// The permissions about which this was decided for the whole app or one of its processes.
    func permissions(_ decision: DecisionRow.Kind) -> [Permission] {
        Permission.allCases.filter { permission in
            decisions.contains { $0.item == .permission(permission) && $0.decision == decision }
        }
    }

    static func searched(_ app: AppID, _ label: AppLabel) -> String { "\(label.name)\n\(app)".lowercased() }

    /// The entries of all apps, in the order of their names in the person's language.
    static func all(
        decisions: [AppID: [DecisionRow]], history: [HistoryRow], uses: [UseRow], _ names: AppNames
    ) -> [AppEntry] {
        var apps = Set(decisions.keys)
        apps.formUnion(history.compactMap(\.app))
        for use in uses { if let app = use.app { apps.insert(app) } }
        let keyed = apps.map { app in
            let entry = AppEntry(app, decisions[app] ?? [], names)
            return (key: collationKey(entry.label.name), entry: entry)
        }
        return keyed.sorted { a, b in
            a.key == b.key ? a.entry.app < b.entry.app : a.key.lexicographicallyPrecedes(b.key)
        }.map(\.entry)
    }

    private static func collationKey(_ name: String) -> [UInt8] {
        guard let folded = g_utf8_casefold(name, -1) else { return Array(name.utf8) }
        defer { g_free(folded) }
        guard let key = g_utf8_collate_key(folded, -1) else { return Array(name.utf8) }
        defer { g_free(key) }
        return Array(String(cString: key).utf8)
    }
}

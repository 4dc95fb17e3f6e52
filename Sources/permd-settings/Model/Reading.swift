// Reads the lists of permd that are due, on another thread than GTK's.

import PermissionClient

/// Which lists have to be read.
struct Due: Sendable, Equatable {
    enum History: Sendable, Equatable {
        case none, newest, all

        mutating func add(_ more: History) { if self == .none { self = more } }
    }

    var uses = false
    var devices = false
    var switches = false
    var rules = false
    /// The decisions of all apps.
    var decisions = false
    /// The apps whose decisions may have changed.
    var apps: Set<AppID> = []
    var history = History.none
}

struct Lists: Sendable {
    var decisions: [AppID: [DecisionRow]] = [:]
    var apps: [AppEntry] = []
    var uses: [UseRow] = []
    var history: [HistoryRow] = []
    var devices: [DeviceRow] = []
    /// Which permissions are switched on.
    var switches: [Permission: Bool] = [:]
    var rules: [Restriction] = []
}

struct Reading: Sendable {
    /// More changed apps than this are read in one list of all.
    private static let mostApps = 16
    /// Rows of the history that repeat within a minute become one row, with the time of the first.
    private static let foldSeconds: EpochSeconds = 60

    private let settings: PermissionSettings
    private let names: AppNames

    init(_ settings: PermissionSettings, _ names: AppNames) {
        self.settings = settings
        self.names = names
    }

    func lists(_ due: Due, _ before: Lists) async throws(ClientError) -> Lists {
        var lists = before
        if due.uses { lists.uses = try await settings.uses() }
        if due.devices { lists.devices = try await settings.devices() }
        if due.switches { lists.switches = try await settings.switches() }
        if due.rules { lists.rules = try await settings.restrictions() }
        if due.decisions || due.apps.count > Reading.mostApps {
            lists.decisions = Dictionary(grouping: try await settings.decisions(), by: \.app)
        } else {
            for app in due.apps {
                let rows = try await settings.decisions(app: app.description)
                lists.decisions[app] = rows.isEmpty ? nil : rows
            }
        }
        switch due.history {
        case .none: break
        case .newest:
            let since = max(0, (before.history.first?.time ?? 0) - 2 * Reading.foldSeconds)
            let new = try await settings.history(since: since)
            lists.history = new + before.history.drop { $0.time >= since }
        case .all: lists.history = try await settings.history()
        }
        lists.apps = AppEntry.all(
            decisions: lists.decisions, history: lists.history, uses: lists.uses, names)
        return lists
    }
}

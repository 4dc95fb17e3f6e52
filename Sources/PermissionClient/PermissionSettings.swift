// The API for settings programs: decisions, history, the queue, rules, devices, agents.

import DBus
public import PermissionModel

/// Lists and changes decisions, and lists the history, the queue, rules, devices, their uses, agents and problems.
///
/// It calls org.permd.Policy1, org.permd.Devices1, org.permd.Usage1 and org.permd.AgentManager1, which refuse sandboxed programs.
///
/// ```swift
/// for row in try await PermissionSettings().decisions() { print(row.app, row.item.name, row.decision) }
/// ```
///
/// Every call may throw ``ClientError`` of the kinds `noDaemon`, `noBus`, `untrustedOwner` and `daemon`: `accessDenied`
/// in a sandbox, and `storeUnavailable` if the store cannot be read, or written in calls that change it.
public final class PermissionSettings: Sendable {
    package let bus: PermissionBus

    /// Creates settings. They connect to the bus with the first call, and share that connection with other instances.
    public init(bus: PermissionBus = .session) { self.bus = bus }

    // MARK: Decisions

    /// Returns decisions and pauses, sorted by app and question (org.permd.Policy1.ListDecisions).
    ///
    /// - Parameters:
    ///   - app: Only those of the app with this identity; nil for all.
    ///   - item: Only those about this; nil for all.
    ///   - limit: The maximum number of rows; 0 for all.
    ///   - offset: The number of rows to skip.
    public func decisions(
        app: String? = nil, item: PromptItem? = nil, limit: Int = 0, offset: Int = 0
    ) async throws(ClientError) -> [DecisionRow] {
        try await pages("ListDecisions", PermissionSettings.filter(app, item), limit, offset, DecisionRow.init)
    }

    /// Returns the statuses of every app that has a decision or a pause, or of one app even if it has none
    /// (org.permd.Policy1.ListStatuses).
    ///
    /// - Parameters:
    ///   - app: The identity of an app; nil for all.
    ///   - permission: Only this permission; nil for all.
    public func statuses(app: String? = nil, permission: Permission? = nil) async throws(ClientError) -> [StatusRow] {
        let filter = PermissionSettings.filter(app, permission.map(PromptItem.permission))
        return try await pages("ListStatuses", filter, 0, 0, StatusRow.init)
    }

    /// Sets a decision (org.permd.Policy1.SetDecision). It is stored when this method returns.
    ///
    /// - Parameters:
    ///   - verdict: The decision.
    ///   - app: The identity of an app, which may have made no request yet.
    ///   - permission: The permission.
    ///   - duration: How long it is in force. `once`, which needs a requesting process, and an `until` in the past are
    ///     `invalidArguments`.
    ///   - author: Who decides: `person` for a program in which the person did, or `permctl`.
    public func set(
        _ verdict: Verdict, app: String, permission: Permission, duration: Duration = .always,
        by author: Author = .permctl
    ) async throws(ClientError) {
        var options: [String: Value] = [
            "duration": .string(duration.kind.rawValue), "by": .string(author.rawValue),
        ]
        if let end = duration.end { options["until"] = .uint64(UInt64(clamping: end)) }
        _ = try await call(
            BusNames.policy, "SetDecision",
            [
                .string(app), .string(permission.rawValue), .string(verdict.rawValue), .properties(options),
            ])
    }

    /// Removes decisions, ends pauses, and ends the throttling of apps that withdrew too many requests
    /// (org.permd.Policy1.Reset).
    ///
    /// If the store cannot be written, the decisions are no longer in force, but this throws `storeUnavailable`: they
    /// may be in force again if permd restarts before it could write the change.
    ///
    /// - Parameters:
    ///   - app: The identity of an app; nil for all.
    ///   - item: What they are about; nil for all.
    /// - Returns: The number of removed decisions.
    @discardableResult
    public func reset(app: String? = nil, item: PromptItem? = nil) async throws(ClientError) -> Int {
        let body = try await call(
            BusNames.policy, "Reset", [.string(app ?? ""), .string(item?.name ?? "")])
        guard let removed = body.first?.uint32Value else { throw .unexpected("no number") }
        return Int(removed)
    }

    /// Returns the history, newest first (org.permd.Policy1.ListHistory).
    ///
    /// - Parameters:
    ///   - app: Only rows of the app with this identity; nil for all.
    ///   - item: Only rows about this; nil for all.
    ///   - outcome: Only rows with this outcome; nil for all.
    ///   - since: Only rows from this time on; nil for all.
    ///   - limit: The maximum number of rows; 0 for all.
    ///   - offset: The number of rows to skip.
    public func history(
        app: String? = nil, item: PromptItem? = nil, outcome: Outcome? = nil, since: EpochSeconds? = nil,
        limit: Int = 0, offset: Int = 0
    ) async throws(ClientError) -> [HistoryRow] {
        var filter = PermissionSettings.filter(app, item)
        if let outcome { filter["outcome"] = .string(outcome.rawValue) }
        if let since { filter["since"] = .uint64(UInt64(clamping: since)) }
        return try await pages("ListHistory", filter, limit, offset, HistoryRow.init)
    }

    // MARK: Switches

    /// Returns which permissions are switched on; one that is switched off is denied to every app
    /// (org.permd.Policy1.Switches). ``events()`` reports changes.
    public func switches() async throws(ClientError) -> [Permission: Bool] {
        guard case .dictionary("s", "b", let entries)? = try await property(BusNames.policy, "Switches") else {
            throw .unexpected("no switches")
        }
        var switches: [Permission: Bool] = [:]
        for entry in entries {
            guard let permission = entry.key.stringValue.flatMap(Permission.init(rawValue:)) else { continue }
            switches[permission] = entry.value.boolValue
        }
        return switches
    }

    /// Switches a permission off or on for every app (org.permd.Policy1.SetSwitch). It is stored when this method
    /// returns. Decisions stay, and are in force again when it is on.
    public func setSwitch(_ permission: Permission, on: Bool) async throws(ClientError) {
        _ = try await call(BusNames.policy, "SetSwitch", [.string(permission.rawValue), .bool(on)])
    }

    private static func filter(_ app: String?, _ item: PromptItem?) -> [String: Value] {
        var filter: [String: Value] = [:]
        if let app { filter["app"] = .string(app) }
        if let item { filter["permission"] = .string(item.name) }
        return filter
    }

    // MARK: Lists

    /// Returns the requests in the queue, in order (org.permd.Policy1.ListRequests).
    public func requests() async throws(ClientError) -> [QueuedRequest] {
        try await rows(BusNames.policy, "ListRequests", [], QueuedRequest.init)
    }

    /// Returns the rules of administrators, including those that grant (org.permd.Policy1.ListRestrictions).
    public func restrictions() async throws(ClientError) -> [Restriction] {
        try await rows(BusNames.policy, "ListRestrictions", [], Restriction.init)
    }

    /// Returns the devices (org.permd.Devices1.ListDevices).
    ///
    /// - Parameter permission: Only devices of this permission; nil for all.
    public func devices(of permission: Permission? = nil) async throws(ClientError) -> [DeviceRow] {
        try await rows(BusNames.devices, "ListDevices", [.string(permission?.rawValue ?? "")], DeviceRow.init)
    }

    /// Returns which apps use cameras and microphones now (org.permd.Usage1.ListUses). ``events()`` reports changes.
    public func uses() async throws(ClientError) -> [UseRow] {
        try await rows(BusNames.usage, "ListUses", [], UseRow.init)
    }

    /// Returns the registered agents, in the order in which they are asked (org.permd.AgentManager1.ListAgents).
    public func agents() async throws(ClientError) -> [AgentRow] {
        try await rows(BusNames.agentManager, "ListAgents", [], AgentRow.init)
    }

    /// Returns whether the bus can start an agent: whether the name `org.permd.Agent` is activatable.
    public func canStartAgent() async throws(ClientError) -> Bool {
        try await BusLink.shared(bus, identifiesDaemon: true).canStart(BusNames.agentService)
    }

    /// Returns whether prompts may be shown now: not while every session of the user is locked or in the background
    /// (org.permd.AgentManager1.UserPresent).
    public func isUserPresent() async throws(ClientError) -> Bool {
        guard let isPresent = try await property(BusNames.agentManager, "UserPresent")?.boolValue else {
            throw .unexpected("no presence")
        }
        return isPresent
    }

    /// Returns the connected enforcement points (org.permd.Enforcement1.ListPoints).
    public func enforcementPoints() async throws(ClientError) -> [PointStatus] {
        try await rows(BusNames.enforcement, "ListPoints", [], PointStatus.init)
    }

    /// Checks the integrity of the store, and returns all problems with advice (org.permd.Policy1.ListProblems).
    public func problems() async throws(ClientError) -> [Problem] {
        try await rows(BusNames.policy, "ListProblems", [], Problem.init)
    }

    /// Returns the version of the running daemon (org.permd.Policy1.ProgramVersion).
    public func programVersion() async throws(ClientError) -> String {
        guard let version = try await property(BusNames.policy, "ProgramVersion")?.stringValue else {
            throw .unexpected("no version")
        }
        return version
    }

    // MARK: The bus

    private func call(_ interface: String, _ member: String, _ body: [Value]) async throws(ClientError) -> [Value] {
        try await BusLink.shared(bus, identifiesDaemon: true).call(interface, member, body)
    }

    private func property(_ interface: String, _ name: String) async throws(ClientError) -> Value? {
        let body = try await call(StandardInterfaces.properties, "Get", [.string(interface), .string(name)])
        return if case .variant(let value)? = body.first { value } else { nil }
    }

    /// The most rows of a reply of permd.
    private static let pageSize = 1024

    /// Returns the rows of a list of org.permd.Policy1, read in pages until the list ends or there are `limit` rows.
    private func pages<Row: Sendable>(
        _ member: String, _ filter: [String: Value], _ limit: Int, _ offset: Int,
        _ read: @Sendable ([String: Value]) -> Row?
    ) async throws(ClientError) -> [Row] {
        var rows: [Row] = []
        var (filter, left, offset) = (filter, limit > 0 ? limit : .max, max(0, offset))
        while left > 0 {
            // After a page with fewer rows than there was room for, the next of a few rows might have none.
            let count = rows.isEmpty ? min(left, PermissionSettings.pageSize) : PermissionSettings.pageSize
            filter["limit"] = .uint32(UInt32(count))
            filter["offset"] = .uint32(UInt32(clamping: offset))
            let page = try await call(BusNames.policy, member, [.properties(filter)]).first?.rows
            guard let page else { throw .unexpected("no rows from \(member)") }
            // A page may have fewer rows than there is room for: permd leaves out those that it cannot read.
            if page.isEmpty { break }
            let known = page.compactMap(read).prefix(left)
            rows += known
            left -= known.count
            offset += count
        }
        return rows
    }

    /// Returns the rows of a list, without those that this version cannot represent, such as rows about a permission
    /// that only a newer daemon knows.
    private func rows<Row: Sendable>(
        _ interface: String, _ member: String, _ body: [Value], _ read: @Sendable ([String: Value]) -> Row?
    ) async throws(ClientError) -> [Row] {
        guard let rows = try await call(interface, member, body).first?.rows else {
            throw .unexpected("no rows from \(member)")
        }
        return rows.compactMap(read)
    }
}

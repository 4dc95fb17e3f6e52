// What settings programs and permctl call: decisions, history, the queue, rules, devices.

import DBus
public import PermissionModel

/// Looks at and changes what was decided. Sandboxed programs are refused.
///
/// ```swift
/// for row in try await PermissionSettings().decisions() { print(row.app, row.question.name, row.decision) }
/// ```
/// Every call throws ``ClientError``: `noDaemon` and `noBus` when nobody is there, `accessDenied` in a sandbox,
/// `untrustedOwner` when a program in a sandbox has taken permd's name.
public final class PermissionSettings: Sendable {
    let bus: PermissionBus

    public init(bus: PermissionBus = .session) { self.bus = bus }

    // MARK: Decisions

    /// Decisions and pauses, by app and question; nil and 0 mean all.
    public func decisions(
        app: String? = nil, question: Question? = nil, limit: Int = 0, offset: Int = 0
    ) async throws(ClientError) -> [DecisionRow] {
        let filter = PermissionSettings.filter(app, question, limit, offset)
        return try await rows(BusNames.policy, "ListDecisions", [.properties(filter)], DecisionRow.init)
    }

    /// What the permissions of every app somebody decided about come to; with `app`, of that one, seen or not.
    public func statuses(app: String? = nil, permission: Permission? = nil) async throws(ClientError) -> [StatusRow] {
        let filter = PermissionSettings.filter(app, permission.map(Question.permission), 0, 0)
        return try await rows(BusNames.policy, "ListStatuses", [.properties(filter)], StatusRow.init)
    }

    /// Sets a decision, for an app nobody has seen yet too.
    /// - Parameter duration: `once` has no asking process here and is `invalidArguments`, as is an `until` that is over.
    public func set(
        _ verdict: Verdict, app: String, permission: Permission, duration: Duration = .always
    ) async throws(ClientError) {
        var options: [String: Value] = ["duration": .string(duration.word.rawValue)]
        if let end = duration.end { options["until"] = .uint64(UInt64(clamping: end)) }
        _ = try await call(
            BusNames.policy, "SetDecision",
            [
                .string(app), .string(permission.rawValue), .string(verdict.rawValue), .properties(options),
            ])
    }

    /// Forgets decisions and lifts pauses; nil means any.
    /// - Returns: how many decisions were forgotten.
    @discardableResult
    public func reset(app: String? = nil, question: Question? = nil) async throws(ClientError) -> Int {
        let body = try await call(
            BusNames.policy, "Reset", [.string(app ?? ""), .string(question?.name ?? "")])
        guard let removed = body.first?.uint32Value else { throw .unexpected("no number") }
        return Int(removed)
    }

    /// Newest first.
    /// - Parameter since: seconds since the epoch.
    public func history(
        app: String? = nil, question: Question? = nil, since: EpochSeconds? = nil, limit: Int = 0, offset: Int = 0
    ) async throws(ClientError) -> [HistoryRow] {
        var filter = PermissionSettings.filter(app, question, limit, offset)
        if let since { filter["since"] = .uint64(UInt64(clamping: since)) }
        return try await rows(BusNames.policy, "ListHistory", [.properties(filter)], HistoryRow.init)
    }

    private static func filter(
        _ app: String?, _ question: Question?, _ limit: Int, _ offset: Int
    ) -> [String: Value] {
        var filter: [String: Value] = [:]
        if let app { filter["app"] = .string(app) }
        if let question { filter["permission"] = .string(question.name) }
        if limit > 0 { filter["limit"] = .uint32(UInt32(clamping: limit)) }
        if offset > 0 { filter["offset"] = .uint32(UInt32(clamping: offset)) }
        return filter
    }

    // MARK: Looking

    /// The queue, in order.
    public func requests() async throws(ClientError) -> [QueuedRequest] {
        try await rows(BusNames.policy, "ListRequests", [], QueuedRequest.init)
    }

    /// Administrators' rules, grants too.
    public func restrictions() async throws(ClientError) -> [Restriction] {
        try await rows(BusNames.policy, "ListRestrictions", [], Restriction.init)
    }

    /// - Parameter permission: nil for all.
    public func devices(of permission: Permission? = nil) async throws(ClientError) -> [DeviceRow] {
        try await rows(BusNames.devices, "ListDevices", [.string(permission?.rawValue ?? "")], DeviceRow.init)
    }

    /// The agents, best first.
    public func agents() async throws(ClientError) -> [AgentRow] {
        try await rows(BusNames.agentManager, "ListAgents", [], AgentRow.init)
    }

    /// Whether the bus can start an agent when a prompt is due and none is there.
    public func canStartAgent() async throws(ClientError) -> Bool {
        try await BusLink.ofSettings(bus).canStart(BusNames.agentService)
    }

    /// What is wrong, each with what to do; checks the store's integrity on the way.
    public func problems() async throws(ClientError) -> [Problem] {
        try await rows(BusNames.policy, "ListProblems", [], Problem.init)
    }

    /// Of the daemon that runs.
    public func programVersion() async throws(ClientError) -> String {
        let body = try await call(
            StandardInterfaces.properties, "Get", [.string(BusNames.policy), .string("ProgramVersion")])
        guard case .variant(.string(let version))? = body.first else { throw .unexpected("no version") }
        return version
    }

    // MARK: The bus

    private func call(_ interface: String, _ member: String, _ body: [Value]) async throws(ClientError) -> [Value] {
        try await BusLink.ofSettings(bus).call(interface, member, body)
    }

    /// A newer daemon may know apps, permissions and statuses that have no place in a row of this version: those are left out.
    private func rows<Row: Sendable>(
        _ interface: String, _ member: String, _ body: [Value], _ read: @Sendable ([String: Value]) -> Row?
    ) async throws(ClientError) -> [Row] {
        guard let rows = try await call(interface, member, body).first?.rows else {
            throw .unexpected("no rows to \(member)")
        }
        return rows.compactMap(read)
    }
}

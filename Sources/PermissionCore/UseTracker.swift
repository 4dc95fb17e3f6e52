// Which uses there are: open nodes and the reports of enforcement points become one use for each app and device.

package import PermissionModel

/// All uses of devices. Does no I/O and has no clock.
package struct UseTracker: Sendable {
    /// The most reports that have not ended: more streams than any desktop records. With the next, it is the 1,024 rows
    /// of a list.
    package static let maximumReported = 768
    /// The most uses of open nodes. They have a limit of their own, so that no enforcement point can keep them from
    /// being listed.
    package static let maximumDirect = 256

    private struct DeviceKey: Hashable {
        let permission: Permission
        /// Two devices without an ID are the same if their names are.
        let text: String

        init(_ device: UsedDevice) {
            permission = device.permission
            text = device.id.isEmpty ? "name " + device.name : "id " + device.id
        }
    }

    /// What is one use, however many descriptors and streams it has.
    private struct UseKey: Hashable {
        let app: AppID?
        /// Tells unknown apps apart; 0 for known ones.
        let pid: Int32
        let device: DeviceKey

        init(_ app: AppID?, _ pid: Int32, _ device: DeviceKey) {
            (self.app, self.pid, self.device) = (app, app == nil ? pid : 0, device)
        }
    }

    private struct Entry {
        let use: Use
        /// Whether a process has the node open.
        var isDirect = false
        /// The reports that have not ended, by the enforcement point's connection.
        var reports: [String: Int] = [:]
    }

    private struct OpenDevice {
        var device: UsedDevice
        var openers: [DeviceOpener]
    }

    private var entries: [UseKey: Entry] = [:]
    private var subjects: [UInt32: UseKey] = [:]
    /// What each enforcement point has reported so far: it knows which apps are behind a sound server.
    private var points: [String: Set<Permission>] = [:]
    private var open: [DeviceKey: OpenDevice] = [:]
    private var lastNumber: UInt32 = 0

    package init() {}

    /// The uses, in the order in which they began to be listed.
    package var uses: [Use] { entries.values.map(\.use).sorted { $0.number < $1.number } }

    // MARK: Open nodes

    /// Sets which processes have the device's node open. An empty list ends its direct uses.
    package mutating func opened(_ device: UsedDevice, by openers: [DeviceOpener], at now: EpochSeconds) -> [UseChange]
    {
        let key = DeviceKey(device)
        open[key] = openers.isEmpty ? nil : OpenDevice(device: device, openers: openers)
        return reconcile(key, now)
    }

    /// Whether an enforcement point reports the apps behind sound servers.
    private func knowsApps(behind permission: Permission) -> Bool {
        points.values.contains { $0.contains(permission) }
    }

    private mutating func reconcile(_ key: DeviceKey, _ now: EpochSeconds) -> [UseChange] {
        let opened = open[key]
        let hidesServers = knowsApps(behind: key.permission)
        var wanted: [(subject: UseKey, opener: DeviceOpener)] = []
        var known: Set<UseKey> = []
        for opener in opened?.openers ?? [] where !(opener.isServer && hidesServers) {
            let subject = UseKey(opener.app, opener.pid, key)
            if known.insert(subject).inserted { wanted.append((subject, opener)) }
        }
        var changes: [UseChange] = []
        for (subject, entry) in entries where entry.isDirect && subject.device == key && !known.contains(subject) {
            entries[subject]?.isDirect = false
            changes += endIfUnused(subject, now)
        }
        var count = entries.values.count(where: \.isDirect)
        for (subject, opener) in wanted {
            guard let device = opened?.device, entries[subject]?.isDirect != true, count < UseTracker.maximumDirect
            else {
                continue
            }
            if entries[subject] == nil {
                changes.append(
                    start(
                        subject, device, opener.pid, since: opener.since, opener.status, opener.source.rawValue,
                        isServer: opener.isServer))
            }
            entries[subject]?.isDirect = true
            count += 1
        }
        return changes
    }

    // MARK: Reports

    /// Adds a report. An app's further reports about the same device are the same use, which lasts until each has ended.
    package mutating func report(
        _ report: UseReport, by connection: String, at now: EpochSeconds
    ) throws(PermissionError) -> (number: UInt32, changes: [UseChange]) {
        let subject = UseKey(report.app, report.pid, DeviceKey(report.device))
        guard entries.values.reduce(0, { $0 + $1.reports.values.reduce(0, +) }) < UseTracker.maximumReported else {
            throw PermissionError(
                .limitExceeded, "enforcement points may report \(UseTracker.maximumReported) uses")
        }
        var changes: [UseChange] = []
        if points[connection, default: []].insert(report.device.permission).inserted {
            changes = reconcileServers([report.device.permission], now)
        }
        if entries[subject] == nil {
            changes.append(start(subject, report.device, report.pid, since: now, report.status, report.source))
        }
        entries[subject]?.reports[connection, default: 0] += 1
        return (entries[subject]?.use.number ?? 0, changes)
    }

    /// The sandboxed apps whose uses the enforcement point has reported.
    package func sandboxedApps(reportedBy connection: String) -> Set<AppID> {
        Set(entries.filter { $0.value.reports[connection] != nil }.compactMap(\.key.app).filter(\.isSandboxed))
    }

    /// Ends one report; nil if the enforcement point has no such use.
    package mutating func end(_ number: UInt32, by connection: String, at now: EpochSeconds) -> [UseChange]? {
        guard let subject = subjects[number], let count = entries[subject]?.reports[connection] else { return nil }
        entries[subject]?.reports[connection] = count > 1 ? count - 1 : nil
        return endIfUnused(subject, now)
    }

    /// The enforcement point has left the bus: everything that it reported ends.
    package mutating func departed(_ connection: String, at now: EpochSeconds) -> [UseChange] {
        guard let permissions = points.removeValue(forKey: connection) else { return [] }
        var changes: [UseChange] = []
        for use in uses {
            guard let subject = subjects[use.number], entries[subject]?.reports.removeValue(forKey: connection) != nil
            else { continue }
            changes += endIfUnused(subject, now)
        }
        return changes + reconcileServers(permissions, now)
    }

    /// The connection to the bus is lost, and all enforcement points with it.
    package mutating func allDeparted(at now: EpochSeconds) -> [UseChange] {
        points.keys.sorted().flatMap { departed($0, at: now) }
    }

    private mutating func reconcileServers(_ permissions: Set<Permission>, _ now: EpochSeconds) -> [UseChange] {
        open.keys.filter { permissions.contains($0.permission) }.flatMap { reconcile($0, now) }
    }

    // MARK: Uses

    private mutating func start(
        _ subject: UseKey, _ device: UsedDevice, _ pid: Int32, since: EpochSeconds, _ status: Status, _ source: String,
        isServer: Bool = false
    ) -> UseChange {
        repeat { lastNumber &+= 1 } while lastNumber == 0 || subjects[lastNumber] != nil
        let use = Use(
            number: lastNumber, app: subject.app, pid: pid, device: device, since: since, status: status,
            source: source, isServer: isServer)
        entries[subject] = Entry(use: use)
        subjects[lastNumber] = subject
        return .started(use)
    }

    private mutating func endIfUnused(_ subject: UseKey, _ now: EpochSeconds) -> [UseChange] {
        guard let entry = entries[subject], !entry.isDirect, entry.reports.isEmpty else { return [] }
        entries[subject] = nil
        subjects[entry.use.number] = nil
        return [.ended(entry.use, at: now)]
    }
}

// Which uses there are: open nodes and the reports of enforcement points become one use for each app and device.

public import PermissionModel

/// All uses of devices. Does no I/O and has no clock.
public struct UseTracker: Sendable {
    /// The most reports of one enforcement point that have not ended: more streams than any desktop records.
    public static let maximumOfPoint = 384
    /// The same for all enforcement points together. With the next, it is the 1,024 rows of a list.
    static let maximumReported = 768
    /// The most uses of open nodes. They have a limit of their own, so that no enforcement point can keep them from
    /// being listed.
    public static let maximumDirect = 256

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
    private struct Subject: Hashable {
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

    private struct Point {
        var uses: Set<UInt32> = []
        var reports = 0
        /// What it has reported so far: it knows which apps are behind a sound server.
        var permissions: Set<Permission> = []
    }

    private struct OpenDevice {
        var device: UsedDevice
        var holders: [DeviceHolder]
    }

    private var entries: [Subject: Entry] = [:]
    private var subjects: [UInt32: Subject] = [:]
    private var points: [String: Point] = [:]
    /// The reports of all points that have not ended.
    private var reported = 0
    /// How many points have reported each permission.
    private var reporters: [Permission: Int] = [:]
    private var open: [DeviceKey: OpenDevice] = [:]
    private var direct: [DeviceKey: Set<Subject>] = [:]
    private var directCount = 0
    private var lastNumber: UInt32 = 0

    public init() {}

    /// The uses, in the order in which they began to be listed.
    public var uses: [Use] { entries.values.map(\.use).sorted { $0.number < $1.number } }

    // MARK: Open nodes

    /// Sets which processes have the device's node open. An empty list ends its direct uses.
    public mutating func hold(_ device: UsedDevice, by holders: [DeviceHolder], at now: EpochSeconds) -> [UseChange] {
        let key = DeviceKey(device)
        open[key] = holders.isEmpty ? nil : OpenDevice(device: device, holders: holders)
        return reconcile(key, now)
    }

    /// Whether an enforcement point reports the apps behind sound servers.
    private func knowsApps(behind permission: Permission) -> Bool {
        reporters[permission, default: 0] > 0
    }

    private mutating func reconcile(_ key: DeviceKey, _ now: EpochSeconds) -> [UseChange] {
        let opened = open[key]
        let hidesServers = knowsApps(behind: key.permission)
        var wanted: [(subject: Subject, holder: DeviceHolder)] = []
        var known: Set<Subject> = []
        for holder in opened?.holders ?? [] where !(holder.isServer && hidesServers) {
            let subject = Subject(holder.app, holder.pid, key)
            if known.insert(subject).inserted { wanted.append((subject, holder)) }
        }
        var changes: [UseChange] = []
        for subject in direct[key] ?? [] where !known.contains(subject) {
            entries[subject]?.isDirect = false
            direct[key]?.remove(subject)
            directCount -= 1
            changes += endIfUnused(subject, now)
        }
        for (subject, holder) in wanted {
            guard let device = opened?.device, direct[key]?.contains(subject) != true,
                directCount < UseTracker.maximumDirect
            else { continue }
            if entries[subject] == nil {
                changes.append(
                    start(
                        subject, device, holder.pid, since: holder.since, holder.status, holder.source.rawValue))
            }
            entries[subject]?.isDirect = true
            direct[key, default: []].insert(subject)
            directCount += 1
        }
        if direct[key]?.isEmpty == true { direct[key] = nil }
        return changes
    }

    // MARK: Reports

    /// Adds a report. An app's further reports about the same device are the same use, which lasts until each has ended.
    public mutating func report(
        _ report: UseReport, by connection: String, at now: EpochSeconds
    ) throws(PermissionError) -> (number: UInt32, changes: [UseChange]) {
        let device = UsedDevice(permission: report.permission, id: report.device, name: report.deviceName)
        let subject = Subject(report.app, report.pid, DeviceKey(device))
        try checkLimits(of: connection)
        var changes: [UseChange] = []
        if points[connection, default: Point()].permissions.insert(report.permission).inserted {
            reporters[report.permission, default: 0] += 1
            changes = reconcileServers([report.permission], now)
        }
        if entries[subject] == nil {
            changes.append(start(subject, device, report.pid, since: now, report.status, report.source))
        }
        entries[subject]?.reports[connection, default: 0] += 1
        let number = entries[subject]?.use.number ?? 0
        points[connection]?.uses.insert(number)
        points[connection]?.reports += 1
        reported += 1
        return (number, changes)
    }

    private func checkLimits(of connection: String) throws(PermissionError) {
        guard points[connection]?.reports ?? 0 < UseTracker.maximumOfPoint else {
            throw PermissionError(.limitExceeded, "an enforcement point may report \(UseTracker.maximumOfPoint) uses")
        }
        guard reported < UseTracker.maximumReported else {
            throw PermissionError(
                .limitExceeded, "all enforcement points may report \(UseTracker.maximumReported) uses")
        }
    }

    /// Ends one report; nil if the enforcement point has no such use.
    public mutating func end(_ number: UInt32, by connection: String, at now: EpochSeconds) -> [UseChange]? {
        guard let subject = subjects[number], let count = entries[subject]?.reports[connection] else { return nil }
        points[connection]?.reports -= 1
        reported -= 1
        guard count == 1 else {
            entries[subject]?.reports[connection] = count - 1
            return []
        }
        entries[subject]?.reports[connection] = nil
        points[connection]?.uses.remove(number)
        return endIfUnused(subject, now)
    }

    /// The enforcement point has left the bus: everything that it reported ends.
    public mutating func left(_ connection: String, at now: EpochSeconds) -> [UseChange] {
        guard let point = points.removeValue(forKey: connection) else { return [] }
        reported -= point.reports
        for permission in point.permissions { reporters[permission, default: 0] -= 1 }
        var changes: [UseChange] = []
        for number in point.uses.sorted() {
            guard let subject = subjects[number] else { continue }
            entries[subject]?.reports[connection] = nil
            changes += endIfUnused(subject, now)
        }
        return changes + reconcileServers(point.permissions, now)
    }

    /// The connection to the bus is lost, and all enforcement points with it.
    public mutating func allLeft(at now: EpochSeconds) -> [UseChange] {
        points.keys.sorted().flatMap { left($0, at: now) }
    }

    private mutating func reconcileServers(_ permissions: Set<Permission>, _ now: EpochSeconds) -> [UseChange] {
        open.keys.filter { permissions.contains($0.permission) }.flatMap { reconcile($0, now) }
    }

    // MARK: Uses

    private mutating func start(
        _ subject: Subject, _ device: UsedDevice, _ pid: Int32, since: EpochSeconds, _ status: Status, _ source: String
    ) -> UseChange {
        repeat { lastNumber &+= 1 } while lastNumber == 0 || subjects[lastNumber] != nil
        let use = Use(
            number: lastNumber, app: subject.app, pid: pid, device: device, since: since, status: status,
            source: source)
        entries[subject] = Entry(use: use)
        subjects[lastNumber] = subject
        return .started(use)
    }

    private mutating func endIfUnused(_ subject: Subject, _ now: EpochSeconds) -> [UseChange] {
        guard let entry = entries[subject], !entry.isDirect, entry.reports.isEmpty else { return [] }
        entries[subject] = nil
        subjects[entry.use.number] = nil
        return [.ended(entry.use, at: now)]
    }
}

// Who uses devices now: what open nodes and enforcement points show becomes uses, rows of the history and lines of the
// journal.

import DBus
import Journal
import Logging
import PermissionCore
import PermissionModel
import ProcessIdentity
import System

@LoopActor
final class DeviceUsage {
    typealias StatusLookup = @LoopActor (AppID, ProcessKey, Permission) -> Status

    private let nodes: OpenNodes
    private let identities: OpenerIdentities
    private let devices: DeviceCatalog
    private let statusOf: StatusLookup
    private let record: @LoopActor ([HistoryRow]) -> Void
    private let now: @Sendable () -> EpochSeconds
    private let ungranted: BoundedLog
    private let bypasses: BoundedLog
    private var tracker = UseTracker()
    /// Whether permd-guard waits for an answer about an app's process. Until then a camera that it has open gives no
    /// image, and is not used.
    var isAskedAbout: (@LoopActor (ProcessKey, Permission) -> Bool)?
    /// Called when uses have started or ended.
    var onChange: (@LoopActor ([UseChange]) -> Void)?

    /// - Parameters:
    ///   - retryTime: Milliseconds until what failed, a search or a watch, is tried again.
    ///   - statusOf: The status of an app's permission as if there were a usable device.
    ///   - record: Adds rows to the history.
    init(
        devices: DeviceCatalog, openings: any OpeningSource = InotifyOpenings(),
        identifier: ProcessIdentifier, processes: any ProcessLiveness = ProcessWatch(), retryTime: Int64 = 10_000,
        now: @escaping @Sendable () -> EpochSeconds, log: Logger,
        statusOf: @escaping StatusLookup, record: @escaping @LoopActor ([HistoryRow]) -> Void
    ) {
        self.devices = devices
        self.statusOf = statusOf
        self.record = record
        self.now = now
        ungranted = BoundedLog(log, "uses without a grant")
        bypasses = BoundedLog(log, "bypasses of enforcement points")
        identities = OpenerIdentities(identifier, processes)
        nodes = OpenNodes(
            openings: openings, worker: devices.worker, reader: identifier.identity.reader, identities: identities,
            retryTime: retryTime, now: now)
        nodes.onOpeners = { [weak self] in self?.opened($0, by: $1) }
    }

    var uses: [Use] { tracker.uses }
    /// Reasons why uses may go unnoticed, for a person to read.
    var problems: [String] { nodes.problems }

    // MARK: Devices

    /// Follows the devices that the catalog has now, if their nodes are watched.
    func devicesChanged() {
        nodes.follow(
            devices.kinds.filter(\.isWatched).flatMap { kind in
                devices.found[kind.permission, default: []].compactMap { found in
                    let device = found.device
                    guard !device.node.isEmpty, let number = found.number else { return nil }
                    return FollowedNode(
                        path: device.node, number: number,
                        device: UsedDevice(permission: device.permission, id: device.id, name: device.name))
                }
            })
    }

    /// permd-guard may have got an answer.
    func reconsider() { nodes.publishOpeners() }

    private func opened(
        _ device: UsedDevice, by openings: [(process: ProcessKey?, since: EpochSeconds, isRecording: Bool)]
    ) {
        let openers = openings.compactMap { process, since, isRecording -> DeviceOpener? in
            let identity = process.flatMap { identities[$0] } ?? OpenerIdentities.Identity()
            if device.permission == .camera, let instance = identity.instance,
                isAskedAbout?(instance, device.permission) == true
            {
                return nil
            }
            if identity.mediaService == .sessionManager, !isRecording { return nil }
            let status =
                if let app = identity.app, let instance = identity.instance {
                    statusOf(app, instance, device.permission)
                } else {
                    Status.undetermined
                }
            return DeviceOpener(
                app: identity.app, pid: process?.pid ?? 0, isServer: identity.mediaService != nil,
                source: isRecording ? .capture : .device, since: since, status: status)
        }
        let changes = tracker.opened(device, by: openers, at: now())
        // A loopback is a camera while somebody feeds it.
        if !changes.isEmpty { devices.askAgain(device.permission) }
        apply(changes)
    }

    // MARK: Ends

    /// A connection has left the bus.
    func departed(_ connection: String) { apply(tracker.departed(connection, at: now())) }

    /// The connection to the bus is lost, and nobody is told any more.
    func disconnected() {
        onChange = nil
        apply(tracker.allDeparted(at: now()))
    }

    /// Ends all uses, which leaves their rows in the history.
    func stop() {
        nodes.onOpeners = nil
        apply(tracker.allDeparted(at: now()))
        for device in Set(tracker.uses.map(\.device)) { apply(tracker.opened(device, by: [], at: now())) }
    }

    // MARK: Changes

    private func apply(_ changes: [UseChange]) {
        guard !changes.isEmpty else { return }
        record(changes.compactMap(\.row))
        for case .started(let use) in changes where use.status != .granted { announce(use) }
        onChange?(changes)
    }

    private func announce(_ use: Use) {
        let app = use.app?.description ?? ""
        let who = use.app == nil ? "A program that cannot be identified" : app
        var fields = DeviceUsage.fields(.used, app, use.device, use.status, use.source)
        fields["pid"] = "\(use.pid == 0 ? "" : String(use.pid))"
        ungranted.notice(
            "\(who) uses the \(use.device.permission.rawValue) \(use.device.name) without a grant: \(use.status.rawValue)",
            metadata: fields)
    }

    /// The fields of a line in the journal.
    private static func fields(
        _ outcome: Outcome, _ app: String, _ device: UsedDevice, _ status: Status, _ source: String
    ) -> Logger.Metadata {
        [
            "app": "\(app)", "permission": "\(device.permission.rawValue)", "outcome": "\(outcome.rawValue)",
            "status": "\(status.rawValue)", "device": "\(device.id)", "source": "\(source)",
        ]
    }
}

/// What enforcement points report.
extension DeviceUsage {
    /// Starts a use that an enforcement point reports; `connection` is the point's unique name. Returns its number; 0
    /// for a bypass, which is no use.
    func reportUse(_ report: UseReport, by connection: String) throws(PermissionError) -> UInt32 {
        var report = report
        // What a token may have, and hyphens.
        guard BusNames.isToken(report.source.replacing("-", with: "_")),
            DeviceOpener.Source(rawValue: report.source) == nil
        else {
            throw PermissionError(
                .invalidArguments, "the option source is no name of an enforcement point: [A-Za-z0-9_-]{1,64}")
        }
        let known = devices.devices.first { $0.permission == report.device.permission && $0.id == report.device.id }
        report.device.id = SafeText.identity(report.device.id)
        report.device.name = known?.name ?? SafeText.title(report.device.name)
        if report.isBypass {
            bypassed(report)
            return 0
        }
        let (number, changes) = try tracker.report(report, by: connection, at: now())
        apply(changes)
        return number
    }

    /// Ends a use as often as it was reported, the last time for good.
    func endUse(_ number: UInt32, by connection: String) throws(PermissionError) {
        guard let changes = tracker.end(number, by: connection, at: now()) else {
            throw PermissionError(.notFound, "this caller has reported no such use")
        }
        apply(changes)
    }

    /// The sandboxed apps whose uses the connection has reported.
    func sandboxedApps(reportedBy connection: String) -> Set<AppID> { tracker.sandboxedApps(reportedBy: connection) }

    private func bypassed(_ report: UseReport) {
        let (app, device) = (report.app, report.device)
        record([
            HistoryRow(
                time: now(), request: "", app: app, item: .permission(device.permission), outcome: .bypassed,
                by: .nobody, status: report.status)
        ])
        bypasses.notice(
            "\(app) got at the \(device.permission.rawValue) \(device.name) past \(report.source), which cut it off",
            metadata: DeviceUsage.fields(.bypassed, app.description, device, report.status, report.source))
    }
}

extension UseChange {
    /// The row of the history; nil for a start, and for a program that cannot be identified: rows are about apps.
    fileprivate var row: HistoryRow? {
        guard case .ended(let use, let end) = self, let app = use.app else { return nil }
        return HistoryRow(
            time: end, request: "", app: app, item: .permission(use.device.permission), outcome: .used, by: .nobody,
            seconds: UInt32(clamping: max(0, end - use.since)), status: use.status)
    }
}

// The components of a daemon in a folder of its own, for tests of those that need several.

import DBus
import DeviceNodes
import Logging
import PermissionModel
import PermissionTestKit
import ProcessIdentity
import System

@testable import PermissionDaemon

/// Logs nothing but what is critical.
let quietLog = {
    var log = Logger(label: "test")
    log.logLevel = .critical
    return log
}()

/// A store, rules and devices: the facts.
@LoopActor
struct DaemonParts {
    let store: DecisionStore
    let policy: RuleSet
    let devices: DeviceCatalog
    let now: @Sendable () -> EpochSeconds

    /// - Parameters:
    ///   - folder: The store's files, and the root of the policy folders.
    ///   - records: The devices that udev lists.
    ///   - maximum: How many decisions are kept.
    init(
        _ folder: TemporaryFolder, devices records: [DeviceRecord] = [],
        maximum: Int = Limits.decisions, now: @escaping @Sendable () -> EpochSeconds = { 0 }
    ) async {
        self.now = now
        store = DecisionStore(
            paths: StorePaths(state: folder.file("state"), session: folder.file("run")),
            session: UserSession(boot: "b"), now: now, maximum: maximum, log: quietLog)
        policy = RuleSet(root: folder.path, saved: [], worker: Worker(), log: quietLog)
        devices = DeviceCatalog(
            worker: Worker(), log: quietLog, source: FakeSource(records), kinds: DeviceKinds.all, probe: FakeProbe())
        await devices.started()
        await written(store)
    }

    var facts: CurrentFacts { CurrentFacts(store: store, policy: policy, devices: devices) }

    func coordinator(_ connection: Connection) -> Coordinator {
        let processes = ProcessIdentifier(worker: Worker())
        let link = PointLink(
            PointConnection(bus: ReconnectingBus(.address("unix:path=/nonexistent")), log: quietLog),
            processes: processes, facts: facts, devices: devices, now: now, log: quietLog)
        return Coordinator(
            connection: connection, store: store, policy: policy, devices: devices, processes: processes,
            systemPoints: SystemPoints([link]), now: now, log: quietLog)
    }
}

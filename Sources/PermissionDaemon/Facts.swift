// What is true now: policy, decisions and devices, read in place. Nothing here changes anything.

import DBus
import PermissionCore
import PermissionModel

@LoopActor
final class CurrentFacts {
    private let store: DecisionStore
    private let policy: PolicySet
    private let devices: DeviceCatalog

    init(store: DecisionStore, policy: PolicySet, devices: DeviceCatalog) {
        self.store = store
        self.policy = policy
        self.devices = devices
    }

    func status(of permission: Permission, for caller: Caller) -> Status {
        PermissionCore.status(
            restricted: policy.isRestricted(caller.app, permission),
            decision: store.decision(caller.app, permission, for: caller.process)?.verdict,
            allowedByRule: policy.isGranted(caller.app, permission), isUsable: devices.isUsable(permission))
    }

    /// What is settled, whether there is a device or not.
    func standing(of permission: Permission, for caller: Caller) -> Status {
        PermissionCore.status(
            restricted: policy.isRestricted(caller.app, permission),
            decision: store.decision(caller.app, permission, for: caller.process)?.verdict,
            allowedByRule: policy.isGranted(caller.app, permission), isUsable: true)
    }

    /// What decisions and rules say about an app as portals know it, which is every process of it at once. The Camera
    /// portal looks again when the camera is opened, so what one process has once stays as long as the process does.
    func portalStanding(of permission: Permission, for app: AppID) -> Verdict? {
        if policy.isRestricted(app, permission) { return .deny }
        if let decided = store.appDecision(app, permission) { return decided.verdict }
        if policy.isGranted(app, permission) { return .grant }
        return permission == .camera && store.isGrantedOnce(app, permission) ? .grant : nil
    }

    /// For the queue, which is not bound to an actor.
    var forQueue: some Facts { QueueFacts(facts: self) }

    private struct QueueFacts: Facts {
        let facts: CurrentFacts

        func status(of permission: Permission, for caller: Caller) -> Status {
            LoopActor.assumeIsolated { facts.status(of: permission, for: caller) }
        }
    }
}

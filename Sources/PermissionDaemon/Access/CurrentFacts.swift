// The current facts: policy, decisions and devices, read directly. Nothing here changes anything.

import DBus
import PermissionCore
import PermissionModel

@LoopActor
final class CurrentFacts {
    private let store: DecisionStore
    private let policy: RuleSet
    private let devices: DeviceCatalog

    init(store: DecisionStore, policy: RuleSet, devices: DeviceCatalog) {
        self.store = store
        self.policy = policy
        self.devices = devices
    }

    /// - Parameter assumesDevice: Whether to answer as if there were a usable device.
    func status(of permission: Permission, for caller: Caller, assumesDevice: Bool = false) -> Status {
        PermissionCore.status(
            restricted: policy.isRestricted(caller.app, permission), isOff: store.switches.isOff(permission),
            decision: store.decision(caller.app, permission, for: caller.process)?.verdict,
            allowedByRule: policy.isGranted(caller.app, permission),
            isUsable: assumesDevice || devices.isUsable(permission))
    }

    /// Whether the person has switched it off for every app.
    func isOff(_ permission: Permission) -> Bool { store.switches.isOff(permission) }

    /// What an enforcement point or the guard does.
    func access(to permission: Permission, for caller: Caller) -> SubjectAccess {
        let status = status(of: permission, for: caller, assumesDevice: true)
        let access = Access(status, ask: policy.configuration.ask, isSandboxed: caller.isSandboxed)
        guard access != .allowed else { return SubjectAccess(.allowed) }
        let (app, decision) = (caller.app, store.decision(caller.app, permission, for: caller.process))
        let ended = GrantEnd(
            status, isOff: store.switches.isOff(permission),
            isKept: decision?.verdict == .grant || policy.isGranted(app, permission),
            last: store.lastEnd(app, permission) ?? (policy.wasGranted(app, permission) ? .administrator : nil))
        return SubjectAccess(access, ended: ended)
    }

    /// What rules, switches and decisions say about an app as portals know it: all its processes together. The Camera portal
    /// checks again when the camera is opened, so a process's own grant counts while the process runs.
    func portalVerdict(of permission: Permission, for app: AppID) -> Verdict? {
        if policy.isRestricted(app, permission) || store.switches.isOff(permission) { return .deny }
        if let decided = store.appDecision(app, permission) { return decided.verdict }
        if policy.isGranted(app, permission) { return .grant }
        return permission == .camera && store.isGrantedOnce(app, permission) ? .grant : nil
    }
}

/// What the queue, which the coordinator calls on the loop, decides by.
extension CurrentFacts: @LoopActor Facts {
    func isMissed(_ permission: Permission) -> Bool { devices.isMissed(permission) }
}

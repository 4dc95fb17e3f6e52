// org.permd.Usage1, for settings programs and indicators.

import DBus
import PermissionCore
import PermissionModel
import System

@LoopActor
struct UsageInterface {
    let usage: DeviceUsage
    let subscribers: Subscribers
    /// Reads the apps' desktop entries.
    let worker: Worker
    let policy: RuleSet
    /// Whether permd-guard ends the use of an open camera that is denied.
    let guardCutsCameras: @LoopActor () -> Bool

    var interface: Interface {
        Interface(
            name: BusNames.usage,
            methods: [Method("ListUses", returns: ["uses": "aa{sv}"], callers: .unsandboxed, list)]
                + subscribers.methods,
            signals: [Signal("UseStarted", ["use": "a{sv}"]), Signal("UseEnded", ["use": "u", "seconds": "t"])],
            readers: .unsandboxed)
    }

    /// Lists and changes wait for names in the order of their calls, so that no list is older than a change before it.
    func notify(_ changes: [UseChange]) {
        let started = changes.compactMap { change in
            if case .started(let use) = change { use } else { nil }
        }
        names(of: started) { names in
            for change in changes {
                switch change {
                case .started(let use):
                    subscribers.send("UseStarted", [.properties(row(use, names))])
                case .ended(let use, let end):
                    subscribers.send(
                        "UseEnded", [.uint32(use.number), .uint64(UInt64(clamping: max(0, end - use.since)))])
                }
            }
        }
    }

    private func list(_ call: MethodCall) {
        let uses = Array(usage.uses.prefix(RowPage.maximum))
        names(of: uses) { names in call.reply(.rows(uses.map { row($0, names) })) }
    }

    private func names(of uses: [Use], _ completion: @escaping @LoopActor ([AppID: AppEntry]) -> Void) {
        AppDirectory.entries(of: Set(uses.compactMap(\.app)), by: worker, completion)
    }

    /// Whether it ends when the permission is denied. An enforcement point cuts an app off; the guard cuts off cameras, but
    /// no sound server, which it lets pass.
    private func isCut(_ use: Use) -> Bool {
        guard use.app != nil, policy.configuration.ask != .none else { return false }
        guard let source = DeviceOpener.Source(rawValue: use.source) else { return true }
        return source == .device && use.device.permission == .camera && !use.isServer && guardCutsCameras()
    }

    private func row(_ use: Use, _ names: [AppID: AppEntry]) -> [String: Value] {
        let app = use.app
        // Apps choose their names, in their desktop entries.
        let name = app.map { SafeText.name(names[$0]?.name ?? "") } ?? ""
        return [
            "use": .uint32(use.number), "app": .string(app?.description ?? ""), "app_name": .string(name),
            "pid": .uint32(UInt32(clamping: use.pid)), "permission": .string(use.device.permission.rawValue),
            "device": .string(use.device.id), "device_name": .string(use.device.name),
            "since": .uint64(UInt64(clamping: use.since)), "status": .string(use.status.rawValue),
            "source": .string(use.source), "cut": .bool(isCut(use)),
        ]
    }
}

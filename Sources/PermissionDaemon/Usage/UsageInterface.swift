// org.permd.Usage1, for settings programs and indicators.

import DBus
import PermissionCore
import PermissionModel
import System

@LoopActor
struct UsageInterface {
    /// Rows per slice of the list; for each, the name of the app is read from its desktop entry.
    private static let sliceRows = 64

    let usage: DeviceUsage
    let subscribers: Subscribers
    let listings: Listings

    var interface: Interface {
        Interface(
            name: BusNames.usage,
            methods: [Method("ListUses", returns: ["uses": "aa{sv}"], callers: .unsandboxed, list)]
                + subscribers.methods,
            signals: [Signal("UseStarted", ["use": "a{sv}"]), Signal("UseEnded", ["use": "u", "seconds": "t"])],
            readers: .unsandboxed)
    }

    func tell(_ changes: [UseChange]) {
        for change in changes {
            switch change {
            case .started(let use): subscribers.send("UseStarted", [.properties(UsageInterface.row(use))])
            case .ended(let use, let end):
                subscribers.send(
                    "UseEnded", [.uint32(use.number), .uint64(UInt64(clamping: max(0, end - use.since)))])
            }
        }
    }

    private func list(_ call: MethodCall) {
        listings.add(call) {
            var rest = usage.uses[...]
            return { () throws(PermissionError) in
                guard !rest.isEmpty else { return nil }
                defer { rest = rest.dropFirst(UsageInterface.sliceRows) }
                return rest.prefix(UsageInterface.sliceRows).map(UsageInterface.row)
            }
        }
    }

    private static func row(_ use: Use) -> Listings.Row {
        let app = use.app
        // Apps choose their names, in their desktop entries.
        let name = app.map { SafeText.title(AppDirectory.entry(for: $0).name) } ?? ""
        return [
            "use": .uint32(use.number), "app": .string(app?.description ?? ""), "app_name": .string(name),
            "pid": .uint32(UInt32(clamping: use.pid)), "permission": .string(use.device.permission.rawValue),
            "device": .string(use.device.id), "device_name": .string(use.device.name),
            "since": .uint64(UInt64(clamping: use.since)), "status": .string(use.status.rawValue),
            "source": .string(use.source),
        ]
    }
}

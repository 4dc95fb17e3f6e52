// org.permd.Devices1, for settings programs.

import DBus
import PermissionModel

@LoopActor
struct DevicesInterface {
    let devices: DeviceCatalog
    let subscribers: Subscribers

    var interface: Interface {
        Interface(
            name: BusNames.devices,
            methods: [
                Method(
                    "ListDevices", ["permission": "s"], returns: ["devices": "aa{sv}"], callers: .unsandboxed, list)
            ] + subscribers.methods,
            signals: [
                Signal("DeviceAdded", ["device": "a{sv}"]),
                Signal("DeviceRemoved", ["permission": "s", "id": "s"]),
            ],
            readers: .unsandboxed)
    }

    func notify(_ change: DeviceChange) {
        switch change {
        case .added(let device):
            subscribers.send("DeviceAdded", [.properties(row(device))])
        case .removed(let permission, let id):
            subscribers.send("DeviceRemoved", [.string(permission.rawValue), .string(id)])
        }
    }

    private func list(_ call: MethodCall) throws(PermissionError) {
        let text = call.string(0)
        let wanted = text.isEmpty ? Permission.allCases : [try parsePermission(text)]
        devices.whenCurrent(wanted, isEnough: false) {
            call.reply(.rows(devices.devices.filter { wanted.contains($0.permission) }.map(row)))
        }
    }

    private func row(_ device: Device) -> [String: Value] {
        let problem =
            device.isUsable && device.isCovered ? "covered by its shutter; open it to be seen" : device.problem
        return [
            "permission": .string(device.permission.rawValue), "id": .string(device.id), "node": .string(device.node),
            "name": .string(device.name), "usable": .bool(device.isUsable), "problem": .string(problem),
        ]
    }
}

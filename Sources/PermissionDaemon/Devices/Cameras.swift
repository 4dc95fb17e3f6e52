// Finds the video4linux nodes that are cameras, by querying the nodes.

import DeviceNodes
import Glibc
import PermissionCore
import PermissionModel

struct CameraKind: DeviceKind {
    let permission = Permission.camera
    let subsystems = ["video4linux"]
    let nodeUse = NodeUse.readingAndWriting
    let isWatched = true

    func mayBeDevice(_ record: DeviceRecord) -> Bool { !record.node.isEmpty }

    /// A loopback may be a camera only while a program feeds it.
    func mayChange(_ record: DeviceRecord, _ known: ProbeResult?, inDetail: Bool) -> Bool {
        if inDetail, case .capabilities(_, _, _, .some) = known?.video { return true }
        return record.syspath.hasPrefix("/sys/devices/virtual/")
    }

    /// A node of hardware that has answered is not opened again, which would power up the camera, unless it has a shutter.
    func examine(_ record: DeviceRecord, _ known: ProbeResult?, _ probe: any NodeProbe) -> ProbeResult {
        if let video = known?.video, case .capabilities = video, !mayChange(record, known, inDetail: true) {
            return ProbeResult(video: video, code: probe.access(record.node, writing: true))
        }
        let video = probe.video(record.node)
        return switch video {
        // A camera in use is usable: opening it reports that it is in use.
        case .capabilities, .unopened(EBUSY), .unanswered(EBUSY): ProbeResult(video: video)
        case .unopened(let code), .unanswered(let code): ProbeResult(video: video, code: code)
        }
    }

    func device(
        _ record: DeviceRecord, _ answer: ProbeResult, among records: (_ subsystem: String) -> [DeviceRecord]
    ) -> FoundDevice? {
        var card = record.properties["ID_V4L_PRODUCT"] ?? record.attributes["name"] ?? ""
        var (isInfrared, isCovered) = (false, false)
        switch answer.video {
        case .capabilities(let flags, let name, let infrared, let shutter):
            // The node disappears before its event arrives.
            guard VideoNode.isCamera(flags), VideoNode.isIndependent(flags), answer.code != ENOENT else { return nil }
            (card, isInfrared, isCovered) = (name, infrared, shutter == .closed)
        case .unanswered(ENOTTY), .unanswered(EINVAL): return nil
        case .unopened, .unanswered, nil: guard CameraKind.isLikelyCamera(record) else { return nil }
        }
        let name = SafeText.title(card)
        let device = Device(
            permission: permission, id: "\(record.hardware)-video-index\(record.attributes["index"] ?? "0")",
            node: record.node, name: name.isEmpty ? "Camera (\(record.sysname))" : name,
            problem: NodeProblem.text(answer.code, node: record.node), isCovered: isCovered)
        return FoundDevice(
            device: device, syspath: record.syspath, number: record.number, order: record.sysnum,
            distinction: isInfrared ? "infrared" : "")
    }

    /// For a node that cannot be queried: what udev knows, otherwise whether it is the first video node of its device.
    private static func isLikelyCamera(_ record: DeviceRecord) -> Bool {
        if let capabilities = record.properties["ID_V4L_CAPABILITIES"] {
            return capabilities.split(separator: ":").contains("capture")
        }
        return record.sysname.hasPrefix("video") && record.attributes["index"] ?? "0" == "0"
    }
}

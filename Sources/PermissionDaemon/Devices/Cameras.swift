// Finds the video4linux nodes that are cameras, by querying the nodes.

import CLinux
import DBus
import Glibc
import PermissionCore
import PermissionModel

final class CameraKind: DeviceKind {
    let permission = Permission.camera
    let subsystems = ["video4linux"]
    let nodeUse = NodeUse.readingAndWriting
    private let probe: any NodeProbe
    /// What nodes have answered, so that a node is opened only once.
    private var answers: [String: VideoCapability] = [:]

    init(_ probe: any NodeProbe) { self.probe = probe }

    func devices(in records: (_ subsystem: String) -> [DeviceRecord]) -> [FoundDevice] {
        let nodes = records("video4linux")
        let present = Set(nodes.map(\.syspath))
        answers = answers.filter { present.contains($0.key) }
        return nodes.compactMap(camera)
    }

    func forget(_ syspath: String?) {
        if let syspath { answers[syspath] = nil } else { answers = [:] }
    }

    /// Whether a node captures video and is no touch panel or codec. The metadata node of a UVC camera does not.
    static func isCamera(_ flags: UInt32) -> Bool {
        let capture = UInt32(V4L2_CAP_VIDEO_CAPTURE) | UInt32(V4L2_CAP_VIDEO_CAPTURE_MPLANE)
        let other = UInt32(V4L2_CAP_TOUCH) | UInt32(V4L2_CAP_VIDEO_M2M) | UInt32(V4L2_CAP_VIDEO_M2M_MPLANE)
        return flags & capture != 0 && flags & other == 0
    }

    private func camera(_ record: DeviceRecord) -> FoundDevice? {
        guard !record.node.isEmpty else { return nil }
        var card = record.properties["ID_V4L_PRODUCT"] ?? record.attributes["name"] ?? ""
        var code: Int32 = 0
        if let known = answers[record.syspath] {
            guard CameraKind.isCamera(known.flags) else { return nil }
            card = known.card
            code = probe.access(record.node, writing: true)
            // The node disappears before its event arrives.
            if code == ENOENT { return nil }
        } else {
            switch probe.video(record.node) {
            case .capability(let answer):
                answers[record.syspath] = answer
                guard CameraKind.isCamera(answer.flags) else { return nil }
                card = answer.card
            case .unanswered(ENOTTY), .unanswered(EINVAL): return nil
            case .unopened(let failure), .unanswered(let failure):
                guard CameraKind.isLikelyCamera(record) else { return nil }
                // A camera in use is usable: opening it reports that it is in use.
                code = failure == EBUSY ? 0 : failure
            }
        }
        let name = SafeText.title(card)
        let device = Device(
            permission: .camera, id: "\(record.hardware)-video-index\(record.attributes["index"] ?? "0")",
            node: record.node, name: name.isEmpty ? "Camera (\(record.sysname))" : name,
            problem: probe.problem(code, at: record.node))
        return FoundDevice(device: device, syspath: record.syspath, number: record.number, order: record.sysnum)
    }

    /// For a node that cannot be queried: what udev knows, otherwise whether it is the first video node of its device.
    private static func isLikelyCamera(_ record: DeviceRecord) -> Bool {
        if let capabilities = record.properties["ID_V4L_CAPABILITIES"] {
            return capabilities.split(separator: ":").contains("capture")
        }
        return record.sysname.hasPrefix("video") && record.attributes["index"] ?? "0" == "0"
    }
}

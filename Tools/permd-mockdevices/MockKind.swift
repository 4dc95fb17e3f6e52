// The kinds of mock devices, and their representation in sysfs.

import CLinux

enum MockKind: String, CaseIterable {
    case camera, metadata, microphone, playback, bluetooth, connection, gnss

    /// The pool from which the kernel numbers the device: names within a pool are unique.
    var pool: String {
        switch self {
        case .camera, .metadata: "video"
        case .microphone, .playback: "card"
        case .bluetooth: "hci"
        case .connection: "link"
        case .gnss: "gnss"
        }
    }

    /// The node's capabilities as reported by VIDIOC_QUERYCAP; nil if the kind does not support it.
    var videoFlags: UInt32? {
        switch self {
        case .camera: UInt32(V4L2_CAP_VIDEO_CAPTURE) | UInt32(V4L2_CAP_STREAMING)
        case .metadata: UInt32(V4L2_CAP_META_CAPTURE) | UInt32(V4L2_CAP_STREAMING)
        default: nil
        }
    }
}

/// One sysfs entry, in umockdev's text format.
struct MockEntry {
    /// Without `/sys`.
    var path: String
    var node: String?
    var properties: [(String, String)]
    var attributes: [(String, String)]

    var syspath: String { "/sys" + path }

    /// With another device number, `MAJOR:MINOR`.
    func numbered(_ device: String) -> MockEntry {
        let parts = device.split(separator: ":").map(String.init)
        var entry = self
        entry.properties = properties.filter { !["MAJOR", "MINOR"].contains($0.0) } + zip(["MAJOR", "MINOR"], parts)
        entry.attributes = attributes.map { $0.0 == "dev" ? ("dev", device) : $0 }
        return entry
    }

    var text: String {
        var lines = ["P: \(path)"]
        if let node {
            lines.append("N: \(node)")
            lines.append("E: DEVNAME=/dev/\(node)")
        }
        lines += properties.map { "E: \($0.0)=\($0.1)" }
        lines += attributes.map { "A: \($0.0)=\($0.1)\\n" }
        return lines.joined(separator: "\n") + "\n\n"
    }
}

extension MockKind {
    /// `number` identifies the port, which is stable; `unit` is the number that the kernel would assign this time.
    func entries(number: Int, unit: Int, name: String?, adapter: String) -> [MockEntry] {
        switch self {
        case .camera, .metadata: [video(number, unit, name ?? "Mock Camera \(number)")]
        case .microphone: sound(number, unit, name ?? "Mock\(number)", side: "c", port: "mockmic")
        case .playback: sound(number, unit, name ?? "Play\(number)", side: "p", port: "mockspeaker")
        case .bluetooth: bluetooth(number, unit)
        case .connection:
            [
                MockEntry(
                    path: "\(adapter):64", properties: [("SUBSYSTEM", "bluetooth"), ("DEVTYPE", "link")], attributes: []
                )
            ]
        case .gnss: [receiver(number, unit)]
        }
    }

    private func video(_ number: Int, _ unit: Int, _ name: String) -> MockEntry {
        let isCamera = self == .camera
        return MockEntry(
            path: "/devices/platform/mockcam.\(number)/video4linux/video\(unit)", node: "video\(unit)",
            properties: [
                ("SUBSYSTEM", "video4linux"), ("MAJOR", "81"), ("MINOR", "\(unit)"),
                ("ID_V4L_CAPABILITIES", isCamera ? ":capture:" : ":"), ("ID_V4L_PRODUCT", name),
            ],
            attributes: [("dev", "81:\(unit)"), ("name", name), ("index", isCamera ? "0" : "1")])
    }

    private func sound(_ number: Int, _ unit: Int, _ id: String, side: String, port: String) -> [MockEntry] {
        let card = "/devices/platform/\(port).\(number)/sound/card\(unit)"
        let stream = "pcmC\(unit)D0\(side)"
        let minor = unit * 2 + (side == "c" ? 0 : 1)
        return [
            MockEntry(
                path: card, properties: [("SUBSYSTEM", "sound")], attributes: [("id", id), ("number", "\(unit)")]),
            MockEntry(
                path: "\(card)/\(stream)", node: "snd/\(stream)",
                properties: [("SUBSYSTEM", "sound"), ("MAJOR", "116"), ("MINOR", "\(minor)")],
                attributes: [("dev", "116:\(minor)"), ("pcm_class", "generic")]),
        ]
    }

    private func bluetooth(_ number: Int, _ unit: Int) -> [MockEntry] {
        let adapter = "/devices/platform/mockbt.\(number)/bluetooth/hci\(unit)"
        return [
            MockEntry(path: adapter, properties: [("SUBSYSTEM", "bluetooth"), ("DEVTYPE", "host")], attributes: []),
            MockEntry(
                path: "\(adapter)/rfkill\(unit)",
                properties: [("SUBSYSTEM", "rfkill"), ("RFKILL_NAME", "hci\(unit)"), ("RFKILL_TYPE", "bluetooth")],
                attributes: [("type", "bluetooth"), ("soft", "0"), ("hard", "0"), ("state", "1")]),
        ]
    }

    private func receiver(_ number: Int, _ unit: Int) -> MockEntry {
        MockEntry(
            path: "/devices/platform/mockgnss.\(number)/gnss/gnss\(unit)", node: "gnss\(unit)",
            properties: [("SUBSYSTEM", "gnss"), ("GNSS_TYPE", "NMEA"), ("MAJOR", "236"), ("MINOR", "\(unit)")],
            attributes: [("dev", "236:\(unit)"), ("type", "NMEA")])
    }
}

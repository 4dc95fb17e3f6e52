// Queries device nodes: whether a device is usable.

import DeviceNodes
import Glibc
import System

/// What was found out about a node.
struct ProbeResult: Sendable, Hashable {
    /// Of a video node.
    var video: VideoQuery?
    /// The name of its sound card.
    var soundCard: String?
    /// The errno with which the node cannot be used, or 0.
    var code: Int32 = 0
}

/// Each call may block for as long as the hardware or its driver hangs. Tests replace this with a fake.
protocol NodeProbe: Sendable {
    func video(_ node: String) -> VideoQuery
    /// 0 if this user may open the node, otherwise errno. Opening it would occupy a microphone or power up a receiver.
    func access(_ node: String, writing: Bool) -> Int32
    /// The names of sound cards by ID.
    func soundCards() -> [String: String]
}

struct SystemProbe: NodeProbe {
    func video(_ node: String) -> VideoQuery { VideoNode.query(node, inDetail: true) }

    func access(_ node: String, writing: Bool) -> Int32 {
        Glibc.access(node, writing ? R_OK | W_OK : R_OK) == 0 ? 0 : errno
    }

    func soundCards() -> [String: String] {
        let list = (try? RegularFile.read("/proc/asound/cards", maximum: 16 << 10)) ?? []
        return SoundCards.parse(String(decoding: list, as: UTF8.self))
    }
}

/// `/proc/asound/cards`: ` 0 [PCH            ]: HDA-Intel - HDA Intel PCH`, then a line of details.
enum SoundCards {
    static func parse(_ text: String) -> [String: String] {
        var names: [String: String] = [:]
        for line in text.split(separator: "\n") {
            guard let open = line.firstIndex(of: "["), let close = line[open...].firstIndex(of: "]"),
                line[..<open].allSatisfy({ $0 == " " || $0.isWholeNumber }), line.contains(where: \.isWholeNumber)
            else { continue }
            let id = line[line.index(after: open)..<close].filter { $0 != " " }
            let words = line[close...].split(separator: " ", omittingEmptySubsequences: true)
            guard let dash = words.firstIndex(of: "-"), dash + 1 < words.count else { continue }
            names[id] = words[(dash + 1)...].joined(separator: " ")
        }
        return names
    }
}

/// Why a node cannot be used, and what to do about it.
enum NodeProblem {
    static func text(_ code: Int32, node: String) -> String {
        switch code {
        case 0: ""
        case EACCES, EPERM:
            "permission denied: \(node); log in on the seat, add the user to its group or tag it uaccess in a udev rule"
        case ENOENT: "\(node) does not exist; let udev create it, or pass it into the container"
        case ENODEV, ENXIO: "\(node) no longer has hardware behind it; plug it in again"
        case ETIMEDOUT: "\(node) does not answer: its driver or hardware hangs; plug it in again, or see journalctl -k"
        default: "\(node) cannot be opened: \(errorText(code)); see journalctl -k"
        }
    }
}

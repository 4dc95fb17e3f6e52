// Which threads record from a sound device, according to ALSA: /proc/asound/cardN/pcmMc/subS/status.

import DeviceNodes
import PermissionCore
import PermissionModel
import ProcessIdentity
import System

/// A substream that is open.
struct SoundCapture: Sendable, Hashable {
    let isRunning: Bool
    /// The thread that opened it.
    let owner: Int32
}

enum SoundCaptures {
    /// More substreams than any sound card has for recording.
    private static let maximumSubstreams = 64

    /// The open substreams of the node; nil if ALSA reports none of its substreams.
    static func of(_ node: String, _ root: String) -> [SoundCapture]? {
        let name = node.split(separator: "/").last.map(String.init) ?? ""
        guard let (card, device) = SoundNode.captureStream(name) else { return nil }
        var captures: [SoundCapture] = []
        for number in 0..<maximumSubstreams {
            let path = "\(root)/asound/card\(card)/pcm\(device)c/sub\(number)/status"
            guard let status = try? RegularFile.read(path, maximum: 4 << 10) else {
                return number == 0 ? nil : captures
            }
            if let capture = parse(String(decoding: status, as: UTF8.self)) { captures.append(capture) }
        }
        return captures
    }

    /// `state: RUNNING`, `owner_pid   : 42` and others, each on a line, or `closed`.
    static func parse(_ text: String) -> SoundCapture? {
        var values: [String: String] = [:]
        for line in text.split(separator: "\n") {
            let parts = line.filter { $0 != " " }.split(separator: ":", maxSplits: 1)
            if parts.count == 2 { values[String(parts[0])] = String(parts[1]) }
        }
        guard let owner = values["owner_pid"].flatMap({ Int32($0) }), owner > 0 else { return nil }
        return SoundCapture(isRunning: values["state"] == "RUNNING", owner: owner)
    }
}

// Finds the ALSA nodes that are microphones.

import DBus
import PermissionCore
import PermissionModel

final class MicrophoneKind: DeviceKind {
    let permission = Permission.microphone
    let subsystems = ["sound"]
    let nodeUse = NodeUse.readingAndWriting
    private let probe: any NodeProbe

    init(_ probe: any NodeProbe) { self.probe = probe }

    func devices(in records: (_ subsystem: String) -> [DeviceRecord]) -> [FoundDevice] {
        let nodes = records("sound")
        let names = nodes.isEmpty ? [:] : probe.soundCards()
        return nodes.compactMap { microphone($0, names) }
    }

    private func microphone(_ record: DeviceRecord, _ names: [String: String]) -> FoundDevice? {
        guard !record.node.isEmpty, let (card, number) = MicrophoneKind.captureStream(record.sysname),
            record.attributes["pcm_class"] != "modem"
        else { return nil }
        let id = record.parentAttributes["id"].flatMap { $0.isEmpty ? nil : $0 } ?? String(card)
        var name = SafeText.title(names[id] ?? id)
        if number > 0 { name += ", input \(number + 1)" }
        let code = probe.access(record.node, writing: true)
        let device = Device(
            // The name that ALSA uses, so that an app can pass it on.
            permission: .microphone, id: "hw:CARD=\(id),DEV=\(number)", node: record.node, name: name,
            problem: probe.problem(code, at: record.node))
        return FoundDevice(
            device: device, syspath: record.syspath, number: record.number, order: card * 1000 + min(number, 999))
    }

    /// `pcmC1D0c` is the capture side of device 0 on card 1; nil for everything else.
    nonisolated static func captureStream(_ sysname: String) -> (card: Int, device: Int)? {
        guard sysname.hasPrefix("pcmC"), sysname.hasSuffix("c") else { return nil }
        let numbers = sysname.dropFirst(4).dropLast().split(separator: "D", omittingEmptySubsequences: false)
        guard numbers.count == 2, let card = decimal(numbers[0]), let device = decimal(numbers[1]) else { return nil }
        return (card, device)
    }
}

/// Accepts digits only; `Int` also accepts a sign.
func decimal(_ text: Substring) -> Int? {
    text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
}

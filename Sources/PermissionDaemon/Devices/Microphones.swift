// Finds the ALSA nodes that are microphones.

import DeviceNodes
import PermissionCore
import PermissionModel

struct MicrophoneKind: DeviceKind {
    let permission = Permission.microphone
    let subsystems = ["sound"]
    let nodeUse = NodeUse.readingAndWriting
    let isWatched = true

    func mayBeDevice(_ record: DeviceRecord) -> Bool {
        !record.node.isEmpty && SoundNode.captureStream(record.sysname) != nil
            && record.attributes["pcm_class"] != "modem"
    }

    func examine(_ record: DeviceRecord, _ known: ProbeResult?, _ probe: any NodeProbe) -> ProbeResult {
        ProbeResult(
            soundCard: MicrophoneKind.card(of: record).flatMap { probe.soundCards()[$0] },
            code: probe.access(record.node, writing: true))
    }

    func device(
        _ record: DeviceRecord, _ answer: ProbeResult, among records: (_ subsystem: String) -> [DeviceRecord]
    ) -> FoundDevice? {
        guard let (card, number) = SoundNode.captureStream(record.sysname),
            let id = MicrophoneKind.card(of: record)
        else { return nil }
        var name = SafeText.title(answer.soundCard ?? id)
        if number > 0 { name += ", input \(number + 1)" }
        let device = Device(
            // The name that ALSA uses, so that an app can pass it on.
            permission: permission, id: "hw:CARD=\(id),DEV=\(number)", node: record.node, name: name,
            problem: NodeProblem.text(answer.code, node: record.node))
        return FoundDevice(
            device: device, syspath: record.syspath, number: record.number, order: card * 1000 + min(number, 999))
    }

    /// The ID of the sound card.
    private static func card(of record: DeviceRecord) -> String? {
        if let id = record.parentAttributes["id"], !id.isEmpty { return id }
        return SoundNode.captureStream(record.sysname).map { String($0.card) }
    }
}

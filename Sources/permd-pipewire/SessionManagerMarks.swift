// What the session manager is told: who may record. By its configuration for permd, it links no others to a source, so
// that nobody records before permd-pipewire has seen it, or while it does not run.

import CaptureRules
import DBus
import PermissionModel

@LoopActor
final class SessionManagerMarks {
    private struct Mark: Hashable {
        let subject: ObjectID
        let key: String
        let value: String
    }

    /// The metadata that our configuration of the session manager makes.
    private static let name = "permd"

    private var metadata: ObjectID?
    private var marks: Set<Mark> = []

    /// Whether the session manager has our configuration.
    var isThere: Bool { metadata != nil }

    func added(_ id: ObjectID, _ properties: Properties) {
        guard properties["metadata.name"] == SessionManagerMarks.name else { return }
        metadata = id
        marks = []
    }

    /// The session manager forgets what it was told about objects that have gone.
    func removed(_ id: ObjectID) {
        marks = marks.filter { $0.subject != id }
        guard id == metadata else { return }
        metadata = nil
        marks = []
    }

    func update(
        _ graph: Graph, _ sources: Sources, _ standings: [ObjectID: Standing], _ silence: SilentSource,
        _ connection: PipeWireConnection
    ) {
        guard let metadata else { return }
        var wanted: Set<Mark> = []
        for (client, standing) in standings {
            for permission in [Permission.camera, .microphone] where standing.allows(permission) {
                wanted.insert(Mark(subject: client, key: permission.rawValue, value: "allowed"))
            }
        }
        for source in sources.plain(in: graph) { wanted.insert(Mark(subject: source, key: "plain", value: "true")) }
        if let source = silence.node {
            for stream in silence.managed {
                wanted.insert(Mark(subject: stream, key: "silence", value: String(source)))
            }
        }
        for mark in marks.subtracting(wanted) {
            connection.setMetadata(metadata, subject: mark.subject, key: mark.key, value: nil)
        }
        for mark in wanted.subtracting(marks) {
            connection.setMetadata(metadata, subject: mark.subject, key: mark.key, value: mark.value)
        }
        marks = wanted
    }
}

// What the session manager is told: who may record. By its configuration for permd, it links no others to a source, so
// that nobody records before permd-pipewire has seen it, or while it does not run.

import CaptureRules
import DBus
import PermissionModel
import System

@LoopActor
final class SessionManagerMarks {
    private struct Mark: Hashable {
        let subject: ObjectID
        let key: String
        let value: String
    }

    /// What the session manager says of a mark.
    enum Change {
        case none
        case removed
        /// What an earlier run has marked is known.
        case isRead
        /// It has read that a client may record.
        case hasRead(client: ObjectID)
    }

    /// The metadata that our configuration of the session manager makes.
    static let name = "permd"

    /// Set by this program, to another value each time. The session manager repeats it after what it had before.
    private static let readKey = "read"

    private static let keys = Set(CaptureKind.all.map(\.permission.rawValue) + ["plain", "silence"])
    /// In bytes. Longer values are no marks of ours.
    private static let longestValue = 20

    private(set) var metadata: ObjectID?
    /// What the metadata holds, as far as it concerns us.
    private var marks: Set<Mark> = []
    /// The serial numbers of clients and nodes, which are never used again. A mark may arrive after its subject has gone
    /// and another has got its ID.
    private var serials: [ObjectID: String] = [:]
    /// Whether the metadata still holds only what an earlier run of this program has left there.
    private var isInherited = true
    /// Whether the session manager has still to say that it has repeated them.
    private(set) var isReading = false
    private let readValue = String(Loop.uptimeMilliseconds())
    /// Between attempts to read, in milliseconds.
    private var backoff = Backoff(first: 100, longest: 2000)

    /// Whether the session manager has our configuration.
    var isThere: Bool { metadata != nil }

    func added(_ id: ObjectID, _ properties: Properties) { serials[id] = properties["object.serial"] }

    func serial(of id: ObjectID) -> UInt64? { serials[id].flatMap { UInt64($0) } }

    func found(_ id: ObjectID) {
        metadata = id
        marks = []
        isInherited = true
    }

    /// Takes over the marks of an earlier run, so that those that are no longer true are removed. Later, only removals
    /// change anything: the session manager may remove a mark of an object that has gone when another has its number
    /// already.
    func changed(_ id: ObjectID, _ subject: ObjectID, _ key: String?, _ value: String?) -> Change {
        guard id == metadata else { return .none }
        if key == SessionManagerMarks.readKey {
            guard value == readValue else { return .none }
            isReading = false
            return .isRead
        }
        if let key, let value {
            guard SessionManagerMarks.keys.contains(key), value.utf8.count <= SessionManagerMarks.longestValue else {
                return .none
            }
            let mark = Mark(subject: subject, key: key, value: value)
            if isInherited {
                marks = marks.filter { $0.subject != subject || $0.key != key }
                marks.insert(mark)
            }
            let isOfClient = Permission(rawValue: key) != nil && marks.contains(mark)
            return isOfClient ? .hasRead(client: subject) : .none
        }
        let before = marks.count
        marks = marks.filter { $0.subject != subject || key != nil && $0.key != key }
        return marks.count < before ? .removed : .none
    }

    /// Has the session manager say when it has repeated all marks. Returns false if it has no configuration for permd.
    func read(_ connection: PipeWireConnection) -> Bool {
        guard let metadata else { return false }
        isReading = true
        connection.setMetadata(metadata, subject: 0, key: SessionManagerMarks.readKey, value: readValue)
        readAgain(metadata, connection)
        return true
    }

    /// PipeWire passes changes on to nobody any more once a program has left that had just begun to follow the metadata. Who
    /// begins to follow it is told all of it.
    private func readAgain(_ metadata: ObjectID, _ connection: PipeWireConnection) {
        connection.flush()
        Loop.shared.after(milliseconds: backoff.next()) { [weak self, weak connection] in
            guard let self, let connection, isReading, metadata == self.metadata else { return }
            connection.followAgain(metadata, .metadata)
            readAgain(metadata, connection)
        }
    }

    /// Whether an earlier run of this program has marked anything.
    var haveHistory: Bool { !marks.isEmpty }

    /// Whether the session manager links for this client or node.
    func allow(_ holder: ObjectID, _ permission: Permission) -> Bool {
        guard let serial = serials[holder] else { return false }
        return marks.contains(Mark(subject: holder, key: permission.rawValue, value: serial))
    }

    /// The session manager forgets what it was told about clients that have gone. Other marks are removed by the next
    /// ``update(_:_:_:_:_:)``.
    func removed(_ id: ObjectID, isClient: Bool) {
        if isClient { marks = marks.filter { $0.subject != id } }
        serials[id] = nil
        guard id == metadata else { return }
        (metadata, isReading) = (nil, false)
        marks = []
    }

    func update(
        _ graph: Graph, _ sources: Sources, _ policies: [ObjectID: ClientPolicy], _ silence: SilentSource,
        _ connection: PipeWireConnection
    ) {
        guard let metadata else { return }
        isInherited = isReading
        var wanted: Set<Mark> = []
        for (holder, policy) in policies {
            for permission in CaptureKind.all.map(\.permission) where policy.allows(permission) {
                guard let serial = serials[holder] else { continue }
                wanted.insert(Mark(subject: holder, key: permission.rawValue, value: serial))
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

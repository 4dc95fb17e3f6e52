// The component that knows who uses devices, with fake devices and fake events of nodes; processes are real.

import DBus
import DeviceNodes
import Glibc
import Logging
import PermissionCore
import PermissionModel
import PermissionTestKit
import ProcessIdentity
import System
import TestSupport

@testable import Journal
@testable import PermissionDaemon

@LoopActor
final class FakeOpenings: OpeningSource {
    var onEvents: (@LoopActor ([String: NodeEvents]) -> Void)?
    private(set) var watched: Set<String> = []
    var failures: [String: String] = [:]
    let watches = EventLog<Set<String>>()

    func watch(_ nodes: Set<String>) -> [String: String] {
        watched = nodes
        watches.add(nodes)
        return failures.filter { nodes.contains($0.key) }
    }

    func read() {}

    func send(_ node: String, _ events: NodeEvents) { onEvents?([node: events]) }
}

@LoopActor
final class UsageStage {
    let source: FakeSource
    let probe = FakeProbe()
    let catalog: DeviceCatalog
    let openings = FakeOpenings()
    let usage: DeviceUsage
    /// `+APP PERMISSION SOURCE STATUS PID` and `-APP`, with `?` for an unknown app.
    let changes = EventLog<String>()
    let log = EventLog<String>()
    private(set) var rows: [HistoryRow] = []
    var status = Status.granted

    init(_ records: [DeviceRecord] = [], reader: ProcessReader = ProcessReader()) async {
        source = FakeSource(records)
        catalog = DeviceCatalog(
            worker: Worker(), log: quietLog, source: source, kinds: DeviceKinds.all, probe: probe)
        let (changes, log) = (changes, log)
        weak var stage: UsageStage?
        usage = DeviceUsage(
            devices: catalog, openings: openings,
            identifier: ProcessIdentifier(worker: Worker(), reader: reader), retryTime: 50,
            now: { EpochSeconds(time(nil)) },
            log: Logger(label: "test") { _ in LineRecorder(lines: log) },
            statusOf: { _, _, _ in stage?.status ?? .restricted }, record: { stage?.rows += $0 })
        usage.onChange = { for change in $0 { changes.add(UsageStage.text(change)) } }
        stage = self
        await catalog.started()
        catalog.onChange = { [usage] _ in usage.devicesChanged() }
        usage.devicesChanged()
    }

    /// Waits until all nodes have answered.
    func settled() async { await withCheckedContinuation { done in catalog.whenAnswered { done.resume() } } }

    static func text(_ change: UseChange) -> String {
        switch change {
        case .started(let use):
            "+\(use.app?.description ?? "?") \(use.device.permission) \(use.source) \(use.status) \(use.pid)"
        case .ended(let use, _): "-\(use.app?.description ?? "?")"
        }
    }

    static func camera(_ terminal: PseudoTerminal, name: String = "Cam", at place: String? = nil) -> DeviceRecord {
        DeviceRecord(
            subsystem: "video4linux", syspath: "/sys/devices/\(place ?? "pci0/usb1/\(name)")/video4linux/video0",
            node: terminal.path,
            number: UInt64(terminal.number), attributes: ["name": name, "index": "0"])
    }

    static func microphone(_ terminal: PseudoTerminal) -> DeviceRecord {
        DeviceRecord(
            subsystem: "sound", syspath: "/sys/devices/pci0/sound/card0/pcmC0D0c", node: terminal.path,
            number: UInt64(terminal.number))
    }

    func opened(_ node: String) { openings.send(node, .open) }
    func closed(_ node: String) { openings.send(node, .close) }

    /// Runs a shell that has the node open when this returns.
    static func opener(
        _ redirection: String, _ node: String, then: String = "echo open; exec cat"
    ) async throws -> ChildProcess {
        let shell = try ChildProcess(
            "sh", ["-c", "exec 3\(redirection)\"$0\"; \(then)", node], standardInput: .pipe)
        for await line in shell.lines where line == "open" { break }
        return shell
    }
}

/// Keeps the lines of a log: each with its fields, unless another text of it is given.
struct LineRecorder: LogHandler {
    let lines: EventLog<String>
    var text: @Sendable (LogEvent) -> String = LineRecorder.withFields
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let text = text(event)
        LoopActor.assumeIsolated { lines.add(text) }
    }

    private static func withFields(_ event: LogEvent) -> String {
        let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { ($0.key, $0.value.description) }
        return JournalLogHandler(program: "permd").line(event.level, "\(event.message)", fields)
    }
}

// Fake devices: a source of records, and a probe that answers from a table.

import CLinux
import DBus
import DeviceNodes
import Glibc
import Logging
import PermissionModel
import PermissionTestKit
import Synchronization
import System
import TestSupport

@testable import PermissionDaemon

@LoopActor
final class FakeSource: DeviceSource {
    var all: [DeviceRecord] = []
    var problems: [String] = []
    var isListable = true
    private(set) var scans = 0
    private(set) var watched: [String] = []
    private var onEvents: (@LoopActor ([DeviceEvent]) -> Void)?

    init(_ records: [DeviceRecord] = []) { all = records }

    func records(of subsystem: String) -> [DeviceRecord]? {
        scans += 1
        return !isListable ? nil : all.filter { $0.subsystem == subsystem }
    }

    func start(_ subsystems: [String], onEvents: @escaping @LoopActor ([DeviceEvent]) -> Void) {
        watched = subsystems
        self.onEvents = onEvents
    }

    func send(_ events: DeviceEvent...) { onEvents?(events) }

    func plug(_ record: DeviceRecord) {
        all.append(record)
        send(DeviceEvent(subsystem: record.subsystem, syspath: record.syspath, isRemoval: false))
    }

    func unplug(_ record: DeviceRecord) {
        all.removeAll { $0.syspath == record.syspath }
        send(DeviceEvent(subsystem: record.subsystem, syspath: record.syspath, isRemoval: true))
    }

    func change(_ record: DeviceRecord) {
        all = all.map { $0.syspath == record.syspath ? record : $0 }
        send(DeviceEvent(subsystem: record.subsystem, syspath: record.syspath, isRemoval: false))
    }
}

// SAFETY: a mutex protects all mutable state.
final class FakeProbe: NodeProbe, @unchecked Sendable {
    struct Table {
        var videos: [String: VideoQuery] = [:]
        var failures: [String: Int32] = [:]
        var cards: [String: String] = [:]
        var opened: [String] = []
        /// Whoever examines these nodes waits.
        var hanging: [String: Gate] = [:]
    }

    private let table = Mutex(Table())

    func set(_ change: (inout Table) -> Void) { table.withLock { change(&$0) } }
    var opened: [String] { table.withLock(\.opened) }

    func video(_ node: String) -> VideoQuery {
        table.withLock { $0.hanging[node] }?.wait()
        return table.withLock { table in
            table.opened.append(node)
            return table.videos[node] ?? .capabilities(1, card: "Camera at \(node)")
        }
    }

    func access(_ node: String, writing: Bool) -> Int32 { table.withLock { $0.failures[node] ?? 0 } }
    func soundCards() -> [String: String] { table.withLock(\.cards) }
}

enum Records {
    static func camera(
        _ unit: Int, at place: String = "pci0000:00/usb1/1-1/1-1:1.0", index: Int = 0,
        properties: [String: String] = [:]
    ) -> DeviceRecord {
        DeviceRecord(
            subsystem: "video4linux", syspath: "/sys/devices/\(place)/video4linux/video\(unit)",
            node: "/dev/video\(unit)", number: UInt64(81 << 8 | unit),
            attributes: ["name": "sysfs name", "index": "\(index)"], properties: properties)
    }

    static func pcm(_ name: String, card: String = "PCH", pcmClass: String = "generic") -> DeviceRecord {
        let unit = name.dropFirst(4).prefix(while: \.isWholeNumber)
        return DeviceRecord(
            subsystem: "sound", syspath: "/sys/devices/pci0000:00/0000:00:1f.3/sound/card\(unit)/\(name)",
            node: "/dev/snd/\(name)", attributes: ["pcm_class": pcmClass], parentAttributes: ["id": card])
    }

    static func adapter(_ name: String, product: String = "") -> DeviceRecord {
        DeviceRecord(
            subsystem: "bluetooth", syspath: "/sys/devices/pci0000:00/usb1/1-7/1-7:1.0/bluetooth/\(name)",
            product: product)
    }

    static func rfkill(_ adapter: DeviceRecord, soft: Bool = false, hard: Bool = false) -> DeviceRecord {
        DeviceRecord(
            subsystem: "rfkill", syspath: adapter.syspath + "/rfkill3",
            attributes: ["type": "bluetooth", "soft": soft ? "1" : "0", "hard": hard ? "1" : "0"])
    }

    static func receiver(_ unit: Int) -> DeviceRecord {
        DeviceRecord(
            subsystem: "gnss", syspath: "/sys/devices/platform/serial.\(unit)/gnss/gnss\(unit)",
            node: "/dev/gnss\(unit)", attributes: ["type": "NMEA"])
    }
}

/// A catalog of fake devices, and every change it has reported.
@LoopActor
final class CatalogBench {
    let source: FakeSource
    let probe = FakeProbe()
    let catalog: DeviceCatalog
    private(set) var changes: [[DeviceChange]] = []

    init(
        _ records: [DeviceRecord] = [], grace: Int64 = 600_000, _ prepare: (inout FakeProbe.Table) -> Void = { _ in }
    ) async {
        source = FakeSource(records)
        probe.set(prepare)
        catalog = DeviceCatalog(
            worker: Worker(), log: quietLog, source: source, kinds: DeviceKinds.all, probe: probe, grace: grace)
        await catalog.started()
        catalog.onChange = { [weak self] in self?.changes.append($0) }
    }

    func ids(_ permission: Permission) -> [String] {
        catalog.devices.filter { $0.permission == permission }.map(\.id)
    }

    /// Waits until it is known whether there is a usable device.
    func current(_ permission: Permission) async {
        await withCheckedContinuation { done in catalog.whenCurrent([permission]) { done.resume() } }
    }

    /// Waits until all nodes have answered.
    func settled() async { await withCheckedContinuation { done in catalog.whenAnswered { done.resume() } } }
}

extension DeviceCatalog {
    func started() async {
        start()
        await withCheckedContinuation { done in whenAnswered { done.resume() } }
    }
}

// The snapshot of devices, and how events change it.

import DBus
import DeviceNodes
import Glibc
import Logging
import PermissionModel
import PermissionTestKit
import System
import TestSupport
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(2)))
@LoopActor
struct DeviceCatalogTests {
    @Test func noDevicesIsNoError() async {
        let bench = await CatalogBench()
        #expect(bench.catalog.devices.isEmpty)
        for permission in Permission.allCases {
            #expect(!bench.catalog.isUsable(permission))
            #expect(bench.catalog.defaultDevice(permission) == nil)
        }
        #expect(bench.changes.isEmpty)
        #expect(bench.source.watched == ["video4linux", "sound", "bluetooth", "rfkill", "gnss"])
    }

    /// A kind of device that the catalog does not know, such as a fingerprint reader.
    private struct ReaderKind: DeviceKind {
        let permission = Permission.bluetooth
        let subsystems = ["reader", "reader_switch"]
        let nodeUse = NodeUse.reading

        func mayBeDevice(_ record: DeviceRecord) -> Bool { record.subsystem == "reader" }

        func device(
            _ record: DeviceRecord, _ answer: ProbeResult, among records: (_ subsystem: String) -> [DeviceRecord]
        ) -> FoundDevice? {
            let device = Device(
                permission: permission, id: record.sysname, node: record.node, name: "Reader",
                problem: records("reader_switch").isEmpty ? "" : "it is switched off")
            return FoundDevice(device: device, syspath: record.syspath, number: record.number)
        }
    }

    /// A kind without any hardware, such as the screen.
    private struct ScreenKind: DeviceKind {
        let permission = Permission.location
        let subsystems: [String] = []
        var permanent: [Device] { [Device(permission: permission, id: "screen", name: "Screen")] }
    }

    /// A new kind needs only an entry in the list of kinds.
    @Test func aKindIsSelfContained() async {
        var reader = DeviceRecord(subsystem: "reader", syspath: "/sys/devices/reader0")
        reader.node = "/dev/reader0"
        let switchedOff = DeviceRecord(subsystem: "reader_switch", syspath: "/sys/devices/reader0/switch")
        let source = FakeSource([reader])
        let catalog = DeviceCatalog(
            worker: Worker(), log: quietLog, source: source, kinds: [ReaderKind(), ScreenKind()], probe: FakeProbe())
        await catalog.started()
        var changes: [[DeviceChange]] = []
        catalog.onChange = { changes.append($0) }
        #expect(source.watched == ["reader", "reader_switch"])
        #expect(catalog.devices.map(\.id) == ["reader0", "screen"] && catalog.isUsable(.bluetooth))
        let withNodes = [Permission.bluetooth, .camera, .location].filter {
            (try? catalog.checkNodes(of: $0)) != nil
        }
        #expect(withNodes == [.bluetooth])
        source.plug(switchedOff)
        #expect(!catalog.isUsable(.bluetooth) && changes.count == 1)
        source.plug(DeviceRecord(subsystem: "video4linux", syspath: "/sys/devices/other"))
        #expect(changes.count == 1)
        source.unplug(switchedOff)
        #expect(catalog.isUsable(.bluetooth) && catalog.isUsable(.location) && changes.count == 2)
    }

    /// It is not usable, and other kinds of devices are reported meanwhile.
    @Test func aNodeThatHangsDelaysNobody() async throws {
        let bench = await CatalogBench([Records.camera(0)])
        let gate = Gate()
        let other = Records.camera(1, at: "other")
        bench.probe.set { $0.hanging["/dev/video1"] = gate }
        bench.source.plug(other)
        bench.source.plug(Records.adapter("hci0"))
        #expect(bench.catalog.isUsable(.bluetooth) && bench.catalog.isUsable(.camera))
        await bench.settled()
        #expect(bench.catalog.devices.filter { $0.permission == .camera }.map(\.isUsable) == [true, false])
        #expect(bench.catalog.devices.contains { $0.problem.contains("/dev/video1 does not answer") })
        bench.probe.set { $0.hanging = [:] }
        gate.open()
        try await waitUntil("the probe's end") { bench.catalog.worker.stuckThreads == 0 }
        bench.source.change(other)
        await bench.settled()
        #expect(bench.catalog.devices.allSatisfy { $0.isUsable })
    }

    @Test func theFirstSnapshotIsNoChange() async {
        let bench = await CatalogBench([
            Records.camera(0), Records.pcm("pcmC0D0c"), Records.adapter("hci0"), Records.receiver(0),
        ])
        #expect(bench.changes.isEmpty)
        #expect(bench.catalog.devices.map(\.permission) == [.bluetooth, .camera, .location, .microphone])
        #expect(Permission.allCases.allSatisfy { bench.catalog.isUsable($0) })
    }

    @Test func readingTheSnapshotProbesNothing() async {
        let bench = await CatalogBench([Records.camera(0)])
        let scans = bench.source.scans
        _ = bench.catalog.isUsable(.camera)
        _ = bench.catalog.devices
        _ = bench.catalog.defaultDevice(.camera)
        #expect(bench.source.scans == scans)
        #expect(bench.probe.opened == ["/dev/video0"])
    }

    @Test func pluggingInAndOut() async {
        let bench = await CatalogBench()
        bench.source.plug(Records.camera(0))
        await bench.settled()
        #expect(bench.catalog.isUsable(.camera))
        bench.source.unplug(Records.camera(0))
        await bench.settled()
        #expect(!bench.catalog.isUsable(.camera))
        let id = "pci0000:00/usb1/1-1/1-1:1.0-video-index0"
        let device = Device(permission: .camera, id: id, node: "/dev/video0", name: "Camera at /dev/video0")
        #expect(bench.changes == [[.added(device)], [.removed(.camera, id: id)]])
    }

    /// As one that its driver resets: requests for it go on.
    @Test func aDeviceThatIsBackAtOnceWasNeverMissing() async {
        let bench = await CatalogBench([Records.camera(0), Records.camera(1, at: "pci0000:00/usb1/1-2/1-2:1.0")])
        bench.source.unplug(Records.camera(1, at: "pci0000:00/usb1/1-2/1-2:1.0"))
        await bench.settled()
        #expect(bench.catalog.isUsable(.camera) && !bench.catalog.isMissed(.camera))
        bench.source.unplug(Records.camera(0))
        await bench.settled()
        #expect(!bench.catalog.isUsable(.camera) && bench.catalog.isMissed(.camera))
        bench.source.plug(Records.camera(0))
        await bench.settled()
        #expect(bench.catalog.isUsable(.camera) && !bench.catalog.isMissed(.camera))
    }

    @Test func aDeviceIsMissedForAMoment() async {
        let bench = await CatalogBench([Records.camera(0)], grace: 1)
        bench.source.unplug(Records.camera(0))
        await withCheckedContinuation { over in
            bench.catalog.onChange = { if $0.isEmpty { over.resume() } }
        }
        #expect(!bench.catalog.isUsable(.camera) && !bench.catalog.isMissed(.camera))
    }

    @Test func aDevicePluggedInAgainHasItsOldId() async {
        let bench = await CatalogBench([Records.camera(0)])
        let id = bench.ids(.camera)
        bench.source.unplug(Records.camera(0))
        await bench.settled()
        bench.source.plug(Records.camera(3))
        await bench.settled()
        #expect(bench.ids(.camera) == id)
        #expect(bench.catalog.defaultDevice(.camera)?.node == "/dev/video3")
    }

    @Test func devicesThatCannotBeListedStay() async {
        let bench = await CatalogBench([Records.camera(0)])
        bench.source.isListable = false
        bench.source.plug(Records.camera(1, at: "other"))
        await bench.settled()
        #expect(bench.catalog.devices.map(\.node) == ["/dev/video0"])
        #expect(bench.catalog.problems == ["no descriptors are left to list devices; permd will try again"])
    }

    @Test func aDeviceReplacedBetweenTwoScansIsChanged() async {
        let bench = await CatalogBench([Records.camera(0)])
        bench.source.all = [Records.camera(1)]
        bench.source.send(
            DeviceEvent(subsystem: "video4linux", syspath: Records.camera(0).syspath, isRemoval: true),
            DeviceEvent(subsystem: "video4linux", syspath: Records.camera(1).syspath, isRemoval: false))
        await bench.settled()
        let id = "pci0000:00/usb1/1-1/1-1:1.0-video-index0"
        let device = Device(permission: .camera, id: id, node: "/dev/video1", name: "Camera at /dev/video1")
        #expect(bench.changes == [[.added(device)]])
    }

    @Test func anotherCameraAtTheSameNodeIsProbedAgain() async {
        let bench = await CatalogBench([Records.camera(0)])
        bench.probe.set {
            $0.videos["/dev/video0"] = .capabilities(0x0080_0000, card: "metadata")
        }
        bench.source.change(Records.camera(0))
        await bench.settled()
        #expect(!bench.catalog.isUsable(.camera))
    }

    @Test func aRemovedDeviceIsGoneEvenIfSysfsStillHasIt() async {
        let bench = await CatalogBench([Records.camera(0)])
        let event = DeviceEvent(subsystem: "video4linux", syspath: Records.camera(0).syspath, isRemoval: true)
        bench.source.send(event)
        await bench.settled()
        #expect(bench.catalog.devices.isEmpty)
        bench.source.change(Records.camera(0))
        await bench.settled()
        #expect(bench.catalog.devices.count == 1)
    }

    @Test func twoNodesOfOneCameraAreOneDevice() async {
        let bench = await CatalogBench([Records.camera(0), Records.camera(1, index: 1)]) {
            $0.videos["/dev/video1"] = .capabilities(0x0080_0000, card: "metadata")
        }
        #expect(bench.ids(.camera).count == 1)
    }

    @Test func noIdAppearsTwice() async {
        let bench = await CatalogBench([Records.camera(0), Records.camera(1), Records.camera(2)])
        #expect(Set(bench.ids(.camera)).count == 3)
    }

    @Test func theDefaultIsTheFirstUsable() async {
        let bench = await CatalogBench([
            Records.camera(10, at: "c"), Records.camera(2, at: "b"), Records.camera(0, at: "a"),
        ]) {
            $0.videos["/dev/video0"] = .unopened(EACCES)
        }
        #expect(bench.catalog.devices.map(\.node) == ["/dev/video2", "/dev/video10", "/dev/video0"])
        #expect(bench.catalog.defaultDevice(.camera)?.node == "/dev/video2")
    }

    @Test func aChangeOfAccessRightsIsNoticed() async {
        let bench = await CatalogBench([Records.pcm("pcmC0D0c")]) { $0.failures["/dev/snd/pcmC0D0c"] = EACCES }
        #expect(!bench.catalog.isUsable(.microphone))
        bench.probe.set { $0.failures = [:] }
        bench.source.change(Records.pcm("pcmC0D0c"))
        await bench.settled()
        #expect(bench.catalog.isUsable(.microphone))
        #expect(bench.changes.count == 1)
    }

    /// logind gives access to another user's session without an event.
    @Test func lostAccessRightsAreNoticedWhenChecked() async {
        let bench = await CatalogBench([Records.pcm("pcmC0D0c"), Records.camera(0)])
        bench.probe.set { $0.failures = ["/dev/snd/pcmC0D0c": EACCES, "/dev/video0": EACCES] }
        #expect(bench.catalog.isUsable(.camera) && bench.catalog.isUsable(.microphone))
        bench.catalog.checkRights()
        await bench.settled()
        #expect(!bench.catalog.isUsable(.camera) && !bench.catalog.isUsable(.microphone))
        bench.probe.set { $0.failures = [:] }
        bench.catalog.checkRights()
        await bench.settled()
        #expect(bench.catalog.isUsable(.camera) && bench.catalog.isUsable(.microphone))
    }

    @Test func aRadioThatIsTurnedOffIsNoticed() async {
        let adapter = Records.adapter("hci0")
        let bench = await CatalogBench([adapter, Records.rfkill(adapter)])
        bench.source.change(Records.rfkill(adapter, soft: true))
        await bench.settled()
        #expect(!bench.catalog.isUsable(.bluetooth))
        #expect(bench.catalog.devices.count == 1)
        bench.source.change(Records.rfkill(adapter))
        await bench.settled()
        #expect(bench.catalog.isUsable(.bluetooth))
    }

    @Test func eventsThatChangeNothingAreNotReported() async {
        let bench = await CatalogBench([Records.camera(0), Records.adapter("hci0")])
        bench.source.change(Records.camera(0))
        await bench.settled()
        bench.source.plug(Records.adapter("hci0:64"))
        await bench.settled()
        bench.source.send(DeviceEvent(subsystem: "net", syspath: "/sys/x", isRemoval: true))
        await bench.settled()
        #expect(bench.changes.isEmpty)
    }

    @Test func aBurstOfEventsCausesOneScan() async {
        let bench = await CatalogBench()
        let scans = bench.source.scans
        bench.source.all = (0..<20).map { Records.camera($0, at: "port\($0)") }
        bench.source.send(
            DeviceEvent(subsystem: "video4linux", syspath: "/sys/a", isRemoval: false),
            DeviceEvent(subsystem: "video4linux", syspath: "/sys/b", isRemoval: false))
        await bench.settled()
        #expect(bench.source.scans == scans + 1)
        #expect(bench.changes.map(\.count) == [20])
    }

    @Test func aRescanProbesEverythingAgain() async {
        let bench = await CatalogBench([Records.camera(0)])
        bench.source.all.append(Records.receiver(0))
        await withCheckedContinuation { done in bench.catalog.rescan { done.resume() } }
        #expect(bench.catalog.isUsable(.location))
        #expect(bench.probe.opened == ["/dev/video0", "/dev/video0"])
    }

    @Test func problemsOfTheSourceAreReported() async {
        let bench = await CatalogBench()
        bench.source.problems = ["udev is not running: x"]
        #expect(bench.catalog.problems == ["udev is not running: x"])
    }

    @Test func theRealSourceWorksOnThisMachine() async {
        let udev = Udev()
        let catalog = DeviceCatalog(
            worker: Worker(), log: quietLog, source: udev, kinds: DeviceKinds.all, probe: SystemProbe())
        await catalog.started()
        await withCheckedContinuation { done in catalog.rescan { done.resume() } }
        for device in catalog.devices { #expect(device.isUsable == device.problem.isEmpty) }
        #expect(Set(catalog.devices.map { "\($0.permission) \($0.id)" }).count == catalog.devices.count)
        udev.close()
    }
}

// The snapshot of devices, and how events change it.

import DBus
import Glibc
import Logging
import PermissionModel
import Testing

@testable import PermissionDaemon

@LoopActor
@Suite struct DeviceCatalogTests {

    @Test func noDevicesIsNoError() {
        let bench = CatalogBench()
        #expect(bench.catalog.devices.isEmpty)
        for permission in Permission.allCases {
            #expect(!bench.catalog.isUsable(permission))
            #expect(bench.catalog.defaultDevice(permission) == nil)
        }
        #expect(bench.changes.isEmpty)
        #expect(bench.source.watched == ["video4linux", "sound", "bluetooth", "rfkill", "gnss"])
    }

    /// A kind of device that the catalog does not know, such as a fingerprint reader.
    private final class ReaderKind: DeviceKind {
        let permission = Permission.bluetooth
        let subsystems = ["reader", "reader_switch"]
        let nodeUse = NodeUse.reading
        private(set) var forgotten: [String?] = []

        func devices(in records: (_ subsystem: String) -> [DeviceRecord]) -> [FoundDevice] {
            let isOff = !records("reader_switch").isEmpty
            return records("reader").map {
                let device = Device(
                    permission: permission, id: $0.sysname, node: $0.node, name: "Reader",
                    problem: isOff ? "it is switched off" : "")
                return FoundDevice(device: device, syspath: $0.syspath, number: $0.number)
            }
        }

        func forget(_ syspath: String?) { forgotten.append(syspath) }
    }

    /// A new kind needs only an entry in the list of kinds.
    @Test func aKindIsSelfContained() {
        var reader = DeviceRecord(subsystem: "reader", syspath: "/sys/devices/reader0")
        reader.node = "/dev/reader0"
        let switchedOff = DeviceRecord(subsystem: "reader_switch", syspath: "/sys/devices/reader0/switch")
        let (source, kind) = (FakeSource([reader]), ReaderKind())
        let catalog = DeviceCatalog(
            log: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, source: source, kinds: [kind])
        var changes: [[DeviceChange]] = []
        catalog.start { changes.append($0) }
        #expect(source.watched == ["reader", "reader_switch"])
        #expect(catalog.devices.map(\.id) == ["reader0"] && catalog.isUsable(.bluetooth))
        #expect(catalog.canOpen(.bluetooth) && !catalog.canOpen(.camera))
        source.plug(switchedOff)
        #expect(!catalog.isUsable(.bluetooth) && changes.count == 1)
        source.plug(DeviceRecord(subsystem: "video4linux", syspath: "/sys/devices/other"))
        #expect(changes.count == 1 && kind.forgotten == [switchedOff.syspath])
        source.unplug(switchedOff)
        #expect(catalog.isUsable(.bluetooth) && changes.count == 2)
        catalog.rescan()
        #expect(kind.forgotten.last == .some(nil))
    }

    @Test func theFirstSnapshotIsNoChange() {
        let bench = CatalogBench([
            Records.camera(0), Records.pcm("pcmC0D0c"), Records.adapter("hci0"), Records.receiver(0),
        ])
        #expect(bench.changes.isEmpty)
        #expect(bench.catalog.devices.map(\.permission) == [.bluetooth, .camera, .location, .microphone])
        #expect(Permission.allCases.allSatisfy { bench.catalog.isUsable($0) })
    }

    @Test func readingTheSnapshotProbesNothing() {
        let bench = CatalogBench([Records.camera(0)])
        let looks = bench.source.looks
        _ = bench.catalog.isUsable(.camera)
        _ = bench.catalog.devices
        _ = bench.catalog.defaultDevice(.camera)
        #expect(bench.source.looks == looks)
        #expect(bench.probe.opened == ["/dev/video0"])
    }

    @Test func pluggingInAndOut() {
        let bench = CatalogBench()
        bench.source.plug(Records.camera(0))
        #expect(bench.catalog.isUsable(.camera))
        bench.source.unplug(Records.camera(0))
        #expect(!bench.catalog.isUsable(.camera))
        let id = "pci0000:00/usb1/1-1/1-1:1.0-video-index0"
        let device = Device(permission: .camera, id: id, node: "/dev/video0", name: "Camera at /dev/video0")
        #expect(bench.changes == [[.added(device)], [.removed(.camera, id: id)]])
    }

    @Test func aDevicePluggedInAgainHasItsOldId() {
        let bench = CatalogBench([Records.camera(0)])
        let id = bench.ids(.camera)
        bench.source.unplug(Records.camera(0))
        bench.source.plug(Records.camera(3))
        #expect(bench.ids(.camera) == id)
        #expect(bench.catalog.defaultDevice(.camera)?.node == "/dev/video3")
    }

    /// An event without a device reports lost events: cached answers of nodes are discarded.
    @Test func anEventWithoutADeviceDiscardsCachedAnswers() {
        let bench = CatalogBench([Records.camera(0), Records.camera(1, at: "pci0000:00/usb1/1-2/1-2:1.0")])
        let unknown = DeviceEvent(subsystem: "video4linux", syspath: "", isRemoval: false)
        // One camera was unplugged and plugged in again, the other was replaced, and the events of that were lost.
        bench.source.unplug(Records.camera(0))
        bench.source.all.append(Records.camera(0))
        bench.probe.set { $0.videos["/dev/video1"] = .capability(VideoCapability(flags: 1, card: "Another")) }
        bench.source.send(unknown)
        #expect(Set(bench.catalog.devices.map(\.name)) == ["Camera at /dev/video0", "Another"])
    }

    @Test func aDeviceReplacedBetweenTwoScansIsChanged() {
        let bench = CatalogBench([Records.camera(0)])
        bench.source.all = [Records.camera(1)]
        bench.source.send(
            DeviceEvent(subsystem: "video4linux", syspath: Records.camera(0).syspath, isRemoval: true),
            DeviceEvent(subsystem: "video4linux", syspath: Records.camera(1).syspath, isRemoval: false))
        let id = "pci0000:00/usb1/1-1/1-1:1.0-video-index0"
        let device = Device(permission: .camera, id: id, node: "/dev/video1", name: "Camera at /dev/video1")
        #expect(bench.changes == [[.changed(device)]])
    }

    @Test func anotherCameraAtTheSameNodeIsProbedAgain() {
        let bench = CatalogBench([Records.camera(0)])
        bench.probe.set {
            $0.videos["/dev/video0"] = .capability(VideoCapability(flags: 0x0080_0000, card: "metadata"))
        }
        bench.source.change(Records.camera(0))
        #expect(!bench.catalog.isUsable(.camera))
    }

    @Test func aRemovedDeviceIsGoneEvenIfSysfsStillHasIt() {
        let bench = CatalogBench([Records.camera(0)])
        let event = DeviceEvent(subsystem: "video4linux", syspath: Records.camera(0).syspath, isRemoval: true)
        bench.source.send(event)
        #expect(bench.catalog.devices.isEmpty)
        bench.source.change(Records.camera(0))
        #expect(bench.catalog.devices.count == 1)
    }

    @Test func twoNodesOfOneCameraAreOneDevice() {
        let bench = CatalogBench([Records.camera(0), Records.camera(1, index: 1)]) {
            $0.videos["/dev/video1"] = .capability(VideoCapability(flags: 0x0080_0000, card: "metadata"))
        }
        #expect(bench.ids(.camera).count == 1)
    }

    @Test func noIdAppearsTwice() {
        let bench = CatalogBench([Records.camera(0), Records.camera(1), Records.camera(2)])
        #expect(Set(bench.ids(.camera)).count == 3)
    }

    @Test func theDefaultIsTheFirstUsable() {
        let bench = CatalogBench([Records.camera(10, at: "c"), Records.camera(2, at: "b"), Records.camera(0, at: "a")])
        {
            $0.videos["/dev/video0"] = .unopened(EACCES)
        }
        #expect(bench.catalog.devices.map(\.node) == ["/dev/video2", "/dev/video10", "/dev/video0"])
        #expect(bench.catalog.defaultDevice(.camera)?.node == "/dev/video2")
    }

    @Test func aChangeOfAccessRightsIsNoticed() {
        let bench = CatalogBench([Records.pcm("pcmC0D0c")]) { $0.failures["/dev/snd/pcmC0D0c"] = EACCES }
        #expect(!bench.catalog.isUsable(.microphone))
        bench.probe.set { $0.failures = [:] }
        bench.source.change(Records.pcm("pcmC0D0c"))
        #expect(bench.catalog.isUsable(.microphone))
        #expect(bench.changes.count == 1)
    }

    /// logind gives access to another user's session without an event.
    @Test func lostAccessRightsAreNoticedWhenChecked() {
        let bench = CatalogBench([Records.pcm("pcmC0D0c"), Records.camera(0)])
        bench.probe.set { $0.failures = ["/dev/snd/pcmC0D0c": EACCES, "/dev/video0": EACCES] }
        #expect(bench.catalog.isUsable(.camera) && bench.catalog.isUsable(.microphone))
        bench.catalog.checkRights()
        #expect(!bench.catalog.isUsable(.camera) && !bench.catalog.isUsable(.microphone))
        bench.probe.set { $0.failures = [:] }
        bench.catalog.checkRights()
        #expect(bench.catalog.isUsable(.camera) && bench.catalog.isUsable(.microphone))
    }

    @Test func aRadioThatIsTurnedOffIsNoticed() {
        let adapter = Records.adapter("hci0")
        let bench = CatalogBench([adapter, Records.rfkill(adapter)])
        bench.source.change(Records.rfkill(adapter, soft: true))
        #expect(!bench.catalog.isUsable(.bluetooth))
        #expect(bench.catalog.devices.count == 1)
        bench.source.change(Records.rfkill(adapter))
        #expect(bench.catalog.isUsable(.bluetooth))
    }

    @Test func eventsThatChangeNothingAreNotReported() {
        let bench = CatalogBench([Records.camera(0), Records.adapter("hci0")])
        bench.source.change(Records.camera(0))
        bench.source.plug(Records.adapter("hci0:64"))
        bench.source.send(DeviceEvent(subsystem: "net", syspath: "/sys/x", isRemoval: true))
        #expect(bench.changes.isEmpty)
    }

    @Test func aBurstOfEventsCausesOneScan() {
        let bench = CatalogBench()
        let looks = bench.source.looks
        bench.source.all = (0..<20).map { Records.camera($0, at: "port\($0)") }
        bench.source.send(
            DeviceEvent(subsystem: "video4linux", syspath: "/sys/a", isRemoval: false),
            DeviceEvent(subsystem: "video4linux", syspath: "/sys/b", isRemoval: false))
        #expect(bench.source.looks == looks + 1)
        #expect(bench.changes.map(\.count) == [20])
    }

    @Test func aRescanProbesEverythingAgain() {
        let bench = CatalogBench([Records.camera(0)])
        bench.source.all.append(Records.receiver(0))
        bench.catalog.rescan()
        #expect(bench.catalog.isUsable(.location))
        #expect(bench.probe.opened == ["/dev/video0", "/dev/video0"])
    }

    @Test func problemsOfTheSourceAreReported() {
        let bench = CatalogBench()
        bench.source.problems = ["udev is not running: x"]
        #expect(bench.catalog.problems == ["udev is not running: x"])
    }

    @Test func theRealSourceWorksOnThisMachine() {
        let udev = Udev()
        let catalog = DeviceCatalog(
            log: .init(label: "test"), source: udev, kinds: DeviceKinds.all(SystemProbe(), nil))
        catalog.start { _ in }
        catalog.rescan()
        for device in catalog.devices { #expect(device.isUsable == device.problem.isEmpty) }
        #expect(Set(catalog.devices.map { "\($0.permission) \($0.id)" }).count == catalog.devices.count)
        udev.close()
    }
}

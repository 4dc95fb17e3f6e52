// Which nodes are cameras, and what is reported about one that cannot be used.

import CLinux
import DBus
import DeviceNodes
import Glibc
import PermissionModel
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(2)))
@LoopActor
struct CameraTests {
    private static let capture = UInt32(V4L2_CAP_VIDEO_CAPTURE)

    @Test(arguments: [
        (UInt32(V4L2_CAP_VIDEO_CAPTURE), true),
        (UInt32(V4L2_CAP_VIDEO_CAPTURE_MPLANE) | UInt32(V4L2_CAP_STREAMING), true),
        (UInt32(V4L2_CAP_META_CAPTURE) | UInt32(V4L2_CAP_STREAMING), false),
        (UInt32(V4L2_CAP_VIDEO_OUTPUT), false),
        (UInt32(V4L2_CAP_VBI_CAPTURE), false),
        (UInt32(V4L2_CAP_RADIO) | UInt32(V4L2_CAP_TUNER), false),
        (UInt32(V4L2_CAP_VIDEO_CAPTURE) | UInt32(V4L2_CAP_TOUCH), false),
        (UInt32(V4L2_CAP_VIDEO_M2M_MPLANE) | UInt32(V4L2_CAP_VIDEO_CAPTURE_MPLANE), false),
        (0, false),
    ])
    func aCameraIsRecognizedByItsCapabilities(flags: UInt32, isCamera: Bool) {
        #expect(VideoNode.isCamera(flags) == isCamera)
    }

    private func find(
        _ record: DeviceRecord, _ prepare: (inout FakeProbe.Table) -> Void
    ) -> Device? {
        let probe = FakeProbe()
        probe.set(prepare)
        let kind = CameraKind()
        return kind.device(record, kind.examine(record, nil, probe)) { _ in [] }?.device
    }

    @Test func theDriversAnswerOverridesUdevs() {
        let record = Records.camera(1, index: 1, properties: ["ID_V4L_CAPABILITIES": ":capture:"])
        let device = find(record) {
            $0.videos["/dev/video1"] = .capabilities(UInt32(V4L2_CAP_META_CAPTURE), card: "x")
        }
        #expect(device == nil)
    }

    @Test func theNameFromTheDriverIsMadeSafe() {
        let device = find(Records.camera(0)) {
            $0.videos["/dev/video0"] = .capabilities(CameraTests.capture, card: " Front\u{202E}\n Camera\u{7} ")
        }
        #expect(device?.name == "Front Camera")
    }

    @Test func aNamelessCameraIsNamedByItsNode() {
        let device = find(Records.camera(4)) {
            $0.videos["/dev/video4"] = .capabilities(CameraTests.capture, card: "")
        }
        #expect(device?.name == "Camera (video4)")
    }

    @Test(arguments: [":capture:", ":other:capture:"])
    func anInaccessibleCameraIsListedIfUdevKnowsIt(capabilities: String) {
        let device = find(Records.camera(0, index: 3, properties: ["ID_V4L_CAPABILITIES": capabilities])) {
            $0.videos["/dev/video0"] = .unopened(EACCES)
        }
        #expect(device?.isUsable == false)
        #expect(
            device?.problem
                == "permission denied: /dev/video0; log in on the seat, add the user to its group or tag it uaccess in a udev rule"
        )
    }

    /// As of IPU6 beside a USB camera.
    @Test func rawNodesAreNoCameras() async {
        let raw = CameraTests.capture | UInt32(V4L2_CAP_IO_MC)
        let bench = await CatalogBench([Records.camera(0, at: "pci0000:00/0000:00:05.0"), Records.camera(24)]) {
            $0.videos["/dev/video0"] = .capabilities(raw, card: "ipu6")
        }
        #expect(bench.catalog.devices.map(\.node) == ["/dev/video24"])
    }

    /// No event tells when a program begins or ends to feed it.
    @Test func aLoopbackIsAskedAgain() async {
        let output = VideoQuery.capabilities(UInt32(V4L2_CAP_VIDEO_OUTPUT), card: "Virtual Camera")
        let bench = await CatalogBench([Records.camera(0, at: "virtual")]) { $0.videos["/dev/video0"] = output }
        #expect(!bench.catalog.isUsable(.camera))
        bench.probe.set { $0.videos["/dev/video0"] = .capabilities(CameraTests.capture, card: "Virtual Camera") }
        await bench.current(.microphone)
        #expect(!bench.catalog.isUsable(.camera))
        await bench.current(.camera)
        #expect(bench.catalog.isUsable(.camera))
        bench.probe.set { $0.videos["/dev/video0"] = output }
        // A device that is usable keeps nobody waiting.
        await bench.current(.camera)
        #expect(bench.catalog.isUsable(.camera))
        bench.catalog.askAgain(.camera)
        await bench.settled()
        #expect(!bench.catalog.isUsable(.camera))
    }

    /// That would power it up.
    @Test func hardwareIsNotAskedAgain() async {
        let bench = await CatalogBench([Records.camera(0)]) {
            $0.videos["/dev/video0"] = .capabilities(UInt32(V4L2_CAP_META_CAPTURE), card: "metadata")
        }
        await bench.current(.camera)
        bench.catalog.askAgain(.camera)
        await bench.settled()
        #expect(bench.probe.opened == ["/dev/video0"])
    }

    /// A camera with a shutter tells of it only when it is asked, and apps may use it whether it is covered or not.
    @Test func aShutter() async {
        func camera(_ shutter: Shutter) -> VideoQuery {
            .capabilities(CameraTests.capture, card: "Integrated Camera", shutter: shutter)
        }
        let bench = await CatalogBench([Records.camera(0)]) { $0.videos["/dev/video0"] = camera(.closed) }
        let isCovered = { bench.catalog.devices.map { [$0.isCovered, $0.isUsable] } }
        #expect(isCovered() == [[true, true]])
        bench.probe.set { $0.videos["/dev/video0"] = camera(.open) }
        // For an app it makes no difference, and would power up the camera.
        await bench.current(.camera)
        #expect(isCovered() == [[true, true]])
        await withCheckedContinuation { done in
            bench.catalog.whenCurrent([.camera], isEnough: false) { done.resume() }
        }
        #expect(isCovered() == [[false, true]])
        #expect(bench.changes.count == 1)
        #expect(bench.probe.opened == ["/dev/video0", "/dev/video0"])
    }

    /// The two nodes of a camera that recognizes faces have one name.
    @Test func anInfraredNodeIsNamedAndComesLast() async {
        let bench = await CatalogBench([Records.camera(0), Records.camera(2, index: 2), Records.camera(4, index: 4)]) {
            $0.videos["/dev/video0"] = .capabilities(CameraTests.capture, card: "Integrated Camera", isInfrared: true)
            $0.videos["/dev/video2"] = .capabilities(CameraTests.capture, card: "Integrated Camera")
            $0.videos["/dev/video4"] = .capabilities(CameraTests.capture, card: "Microscope", isInfrared: true)
        }
        let names = bench.catalog.devices.map { "\($0.node) \($0.name)" }
        #expect(
            names == [
                "/dev/video2 Integrated Camera", "/dev/video0 Integrated Camera (infrared)", "/dev/video4 Microscope",
            ])
    }

    @Test func anInaccessibleMetadataNodeIsNotListed() {
        let device = find(Records.camera(1, index: 0, properties: ["ID_V4L_CAPABILITIES": ":"])) {
            $0.videos["/dev/video1"] = .unopened(EACCES)
        }
        #expect(device == nil)
    }

    @Test func withoutUdevOnlyTheFirstInaccessibleNodeIsACamera() {
        let forbid: (inout FakeProbe.Table) -> Void = {
            $0.videos["/dev/video0"] = .unopened(EPERM)
            $0.videos["/dev/vbi0"] = .unopened(EPERM)
        }
        #expect(find(Records.camera(0, index: 0), forbid)?.isUsable == false)
        #expect(find(Records.camera(0, index: 1), forbid) == nil)
        var other = Records.camera(0)
        other.syspath = "/sys/devices/pci0/video4linux/vbi0"
        other.node = "/dev/vbi0"
        #expect(find(other, forbid) == nil)
    }

    @Test func aBusyCameraIsUsable() {
        let device = find(Records.camera(0)) { $0.videos["/dev/video0"] = .unopened(EBUSY) }
        #expect(device?.isUsable == true)
    }

    @Test func aNodeThatDoesNotAnswerQueriesIsNoCamera() {
        let device = find(Records.camera(0)) { $0.videos["/dev/video0"] = .unanswered(ENOTTY) }
        #expect(device == nil)
    }

    @Test func aNodeIsOpenedOnce() async {
        let bench = await CatalogBench([Records.camera(0)])
        bench.catalog.checkRights()
        await bench.settled()
        #expect(bench.catalog.isUsable(.camera) && bench.probe.opened == ["/dev/video0"])
        bench.probe.set { $0.failures["/dev/video0"] = EACCES }
        bench.catalog.checkRights()
        await bench.settled()
        #expect(!bench.catalog.isUsable(.camera) && bench.probe.opened == ["/dev/video0"])
        bench.source.change(Records.camera(0))
        await bench.settled()
        #expect(bench.probe.opened == ["/dev/video0", "/dev/video0"])
    }

    @Test func aNodeThatHasJustDisappearedIsNoCamera() async {
        let bench = await CatalogBench([Records.camera(0)])
        bench.probe.set { $0.failures["/dev/video0"] = ENOENT }
        bench.catalog.checkRights()
        await bench.settled()
        #expect(bench.catalog.devices.isEmpty)
    }

    @Test func anAnswerIsDroppedWithItsDevice() async {
        let bench = await CatalogBench([Records.camera(0)])
        bench.source.all = []
        bench.catalog.checkRights()
        bench.source.all = [Records.camera(0)]
        bench.catalog.checkRights()
        await bench.settled()
        #expect(bench.probe.opened.count == 2)
    }
}

// Microphones, Bluetooth adapters and satellite receivers; ids and names derived from device records.

import DBus
import DeviceNodes
import Glibc
import PermissionModel
import Testing

@testable import PermissionDaemon

@LoopActor
@Suite struct DeviceKindTests {
    private func find(
        _ kind: any DeviceKind, _ records: [DeviceRecord], _ probe: FakeProbe = FakeProbe()
    ) -> [Device] {
        records.filter(kind.mayBeDevice).compactMap { record in
            let answer = record.node.isEmpty ? ProbeResult() : kind.examine(record, nil, probe)
            return kind.device(record, answer) { name in records.filter { $0.subsystem == name } }?.device
        }
    }

    // MARK: Ids

    @Test(arguments: [
        ("video4linux", "/sys/devices/pci0000:00/usb1/1-1/1-1:1.0/video4linux/video2", "pci0000:00/usb1/1-1/1-1:1.0"),
        ("video4linux", "/sys/devices/virtual/video4linux/video0", "virtual/video4linux/video0"),
        ("bluetooth", "/sys/devices/virtual/bluetooth/hci0", "virtual/bluetooth/hci0"),
        ("bluetooth", "/sys/devices/platform/soc/serial0/bluetooth/hci1", "platform/soc/serial0"),
        ("gnss", "/sys/devices/platform/serial.0/gnss/gnss0", "platform/serial.0"),
        ("gnss", "/sys/devices/gnss", "gnss"),
        ("gnss", "", ""),
    ])
    func thePlaceOmitsWhatMayChange(subsystem: String, syspath: String, place: String) {
        #expect(DeviceRecord(subsystem: subsystem, syspath: syspath).place == place)
    }

    @Test func hardwareIsIdentifiedBySerialThenPathThenPlace() {
        var record = Records.camera(0)
        #expect(record.hardware == "pci0000:00/usb1/1-1/1-1:1.0")
        record.properties["ID_PATH"] = "pci-0000:00:14.0-usb-0:1:1.0"
        #expect(record.hardware == "pci-0000:00:14.0-usb-0:1:1.0")
        record.properties["ID_SERIAL"] = "Vendor_Model"
        #expect(record.hardware == "pci-0000:00:14.0-usb-0:1:1.0", "a model is not a serial number")
        record.properties["ID_SERIAL"] = "Vendor_Model_A1"
        record.properties["ID_SERIAL_SHORT"] = "A1"
        #expect(record.hardware == "Vendor_Model_A1")
    }

    @Test func sysfsNumbersAreParsed() {
        #expect(Records.camera(12).sysname == "video12")
        #expect(Records.camera(12).sysnum == 12)
        #expect(DeviceRecord(subsystem: "x", syspath: "").sysnum == 0)
    }

    @Test func identicalDevicesGetDistinctIdsAndKeepThem() {
        func twin(_ unit: Int) -> FoundDevice {
            FoundDevice(device: Device(permission: .camera, id: "twin", name: "\(unit)"), syspath: "/sys/\(unit)")
        }
        var names = DeviceNames()
        #expect(names.withUniqueIDs([twin(2)]).map(\.device.id) == ["twin"])
        #expect(names.withUniqueIDs([twin(1), twin(2), twin(3)]).map(\.device.id) == ["twin-2", "twin", "twin-3"])
        #expect(names.withUniqueIDs([twin(1), twin(3)]).map(\.device.id) == ["twin-2", "twin-3"])
        #expect(names.withUniqueIDs([twin(1), twin(3), twin(4)]).map(\.device.id) == ["twin-2", "twin-3", "twin"])
    }

    // MARK: Microphones

    @Test(arguments: [
        ("pcmC0D0c", 0, 0), ("pcmC1D10c", 1, 10), ("pcmC31D7c", 31, 7),
    ])
    func captureStreamsAreParsed(name: String, card: Int, device: Int) {
        let stream = SoundNode.captureStream(name)
        #expect(stream?.card == card)
        #expect(stream?.device == device)
    }

    @Test(arguments: ["pcmC0D0p", "controlC0", "pcmC0c", "pcmCD0c", "pcmC0Dc", "pcmC-1D0c", "pcmC0D0D0c", "timer", "c"])
    func otherNodesAreNoCaptureStreams(name: String) {
        #expect(SoundNode.captureStream(name) == nil)
    }

    @Test func microphonesAreNamedByTheirCard() {
        let probe = FakeProbe()
        probe.set {
            $0.cards = ["PCH": "HDA Intel\u{2067} PCH"]
            $0.failures["/dev/snd/pcmC1D2c"] = EACCES
        }
        let found = find(
            MicrophoneKind(),
            [
                Records.pcm("pcmC0D0c"), Records.pcm("pcmC0D0p"), Records.pcm("pcmC1D2c", card: "USB"),
                Records.pcm("pcmC2D0c", card: "Modem", pcmClass: "modem"),
            ], probe)
        #expect(found.map(\.id) == ["hw:CARD=PCH,DEV=0", "hw:CARD=USB,DEV=2"])
        #expect(found.map(\.name) == ["HDA Intel PCH", "USB, input 3"])
        #expect(found.map(\.isUsable) == [true, false])
        #expect(found[1].problem.contains("permission denied: /dev/snd/pcmC1D2c"))
        #expect(probe.opened.isEmpty, "opening a capture device would block other programs")
    }

    @Test func aCardWithoutAnIdIsIdentifiedByItsNumber() {
        let found = find(MicrophoneKind(), [Records.pcm("pcmC3D0c", card: "")])
        #expect(found.first?.id == "hw:CARD=3,DEV=0")
    }

    @Test func soundCardsAreParsed() {
        let text = """
             0 [PCH            ]: HDA-Intel - HDA Intel PCH
                                  HDA Intel PCH at 0xf7210000 irq 32
             1 [U0x46d0x825    ]: USB-Audio - USB Device 0x46d:0x825 - and more
                                  USB Device [0x46d] at usb-1 - high speed
            """
        #expect(
            SoundCards.parse(text) == ["PCH": "HDA Intel PCH", "U0x46d0x825": "USB Device 0x46d:0x825 - and more"])
        #expect(SoundCards.parse("--- no soundcards ---\n").isEmpty)
        #expect(SoundCards.parse(" 0 [\n 1 []\n 2 [X]: y\n").isEmpty)
    }

    // MARK: Adapters and receivers

    @Test(arguments: [
        ("hci0", true), ("hci12", true), ("hci0:64", false), ("hci", false), ("hcix", false), ("rfkill0", false),
    ])
    func adaptersAreRecognizedByTheirName(name: String, isAdapter: Bool) {
        #expect(BluetoothKind().mayBeDevice(Records.adapter(name)) == isAdapter)
    }

    @Test func rfkillDecidesWhetherAnAdapterIsUsable() {
        let one = Records.adapter("hci1", product: "Radio 7")
        let ten = Records.adapter("hci10")
        func find(_ switches: [DeviceRecord]) -> [Device] {
            self.find(BluetoothKind(), [one, ten] + switches)
        }
        func problems(_ switches: DeviceRecord...) -> [String] { find(switches).map(\.problem) }
        #expect(problems(Records.rfkill(one), Records.rfkill(ten)) == ["", ""])
        #expect(
            problems(Records.rfkill(ten, soft: true))[0].isEmpty,
            "the switch belongs to another adapter whose name has the same prefix")
        #expect(problems(Records.rfkill(one, soft: true))[0].contains("rfkill unblock bluetooth"))
        #expect(problems(Records.rfkill(one, soft: true, hard: true))[0].contains("hardware switch"))
        #expect(
            find([]).map(\.name) == ["Radio 7", "Bluetooth adapter"])
    }

    @Test func receiversOnlyNeedToBeReadable() {
        let found = find(LocationKind(), [Records.receiver(0)])
        #expect(found.map(\.id) == ["platform/serial.0"])
        #expect(found.map(\.name) == ["Satellite receiver"])
    }

    // MARK: Problems

    @Test(arguments: [EACCES, EPERM, ENOENT, ENODEV, ENXIO, EIO, EMFILE, ETIMEDOUT])
    func everyProblemSaysWhatToDo(code: Int32) {
        let text = NodeProblem.text(code, node: "/dev/x")
        #expect(text.contains("/dev/x"))
        #expect(text.contains(";"), "the text must have the form \"what happened; what to do\"")
    }

    @Test func withoutAProblemThereIsNoText() {
        #expect(NodeProblem.text(0, node: "/dev/x").isEmpty)
    }
}

// Which device a name refers to, and how it is opened.

import DBus
import Glibc
import PermissionModel
import Testing

@testable import PermissionDaemon

@LoopActor
@Suite struct DeviceOpeningTests {

    private func device(_ number: UInt64?, at node: String) -> DeviceRecord {
        var record = Records.camera(0)
        record.node = node
        record.number = number
        return record
    }

    /// A camera whose node is /dev/null, which every machine has.
    private var null: DeviceRecord { device(UInt64(1 << 8 | 3), at: "/dev/null") }

    private func failure(_ bench: CatalogBench, _ permission: Permission, _ name: String) -> PermissionError? {
        do throws(PermissionError) {
            close(try bench.catalog.open(permission, device: name, writable: nil).fd)
            return nil
        } catch { return error }
    }

    @Test(arguments: ["", "/dev/null", "pci0000:00/usb1/1-1/1-1:1.0-video-index0"])
    func opensByDefaultByNodeAndById(name: String) throws {
        let (fd, _, device) = try CatalogBench([null]).catalog.open(.camera, device: name, writable: nil)
        defer { close(fd) }
        #expect(device.node == "/dev/null")
        #expect(fcntl(fd, F_GETFD) & FD_CLOEXEC != 0)
        #expect(fcntl(fd, F_GETFL) & O_ACCMODE == O_RDWR)
        #expect(fcntl(fd, F_GETFL) & O_NONBLOCK == 0)
    }

    @Test func opensForReadingWhenAsked() throws {
        let (fd, _, _) = try CatalogBench([null]).catalog.open(.camera, device: "", writable: false)
        defer { close(fd) }
        #expect(fcntl(fd, F_GETFL) & O_ACCMODE == O_RDONLY)
    }

    @Test func aReceiverIsOpenedForReading() throws {
        var record = Records.receiver(0)
        record.node = "/dev/null"
        let (fd, _, _) = try CatalogBench([record]).catalog.open(.location, device: "", writable: nil)
        defer { close(fd) }
        #expect(fcntl(fd, F_GETFL) & O_ACCMODE == O_RDONLY)
    }

    @Test func openingADeviceWithoutANodeIsNotSupported() {
        let bench = CatalogBench([Records.adapter("hci0")])
        #expect(failure(bench, .bluetooth, "")?.kind == .notSupported)
        #expect(failure(bench, .location, "")?.kind == .notSupported)
        #expect(failure(CatalogBench([Records.receiver(0)]), .location, "geoclue")?.kind == .notSupported)
        #expect(bench.catalog.canOpen(.camera))
        #expect(!bench.catalog.canOpen(.location))
    }

    @Test func anUnknownNameIsNotFound() {
        #expect(failure(CatalogBench([null]), .camera, "/dev/zero")?.kind == .notFound)
        #expect(failure(CatalogBench(), .camera, "x")?.kind == .notFound)
        #expect(failure(CatalogBench([null]), .camera, "../../etc/passwd")?.kind == .notFound)
    }

    @Test func openingWithoutAnyDeviceIsUnavailable() {
        #expect(failure(CatalogBench(), .camera, "")?.kind == .deviceUnavailable)
    }

    @Test func anUnusableDeviceIsUnavailableAndSaysWhy() {
        let bench = CatalogBench([Records.camera(0)]) { $0.videos["/dev/video0"] = .unopened(EACCES) }
        for name in ["", "/dev/video0"] {
            let error = failure(bench, .camera, name)
            #expect(error?.kind == .deviceUnavailable)
            #expect(error?.message.contains("permission denied") == true)
        }
    }

    @Test func anotherDeviceAtThePathIsRefused() {
        #expect(
            failure(CatalogBench([device(UInt64(81 << 8), at: "/dev/null")]), .camera, "")?.kind == .deviceUnavailable)
        #expect(failure(CatalogBench([device(nil, at: "/proc/self/status")]), .camera, "")?.kind == .deviceUnavailable)
        #expect(failure(CatalogBench([device(nil, at: "/nowhere")]), .camera, "")?.kind == .deviceUnavailable)
    }

    @Test func failuresLeakNoDescriptor() {
        func count() -> Int { (0..<256).count { fcntl(Int32($0), F_GETFD) >= 0 && isRegularStatus(Int32($0)) } }
        func isRegularStatus(_ fd: Int32) -> Bool {
            var buffer = [CChar](repeating: 0, count: 64)
            let length = readlink("/proc/self/fd/\(fd)", &buffer, buffer.count)
            return length > 0
                && String(decoding: buffer[..<length].map(UInt8.init(bitPattern:)), as: UTF8.self) == "/dev/full"
        }
        let before = count()
        for _ in 0..<10 { _ = NodeOpener.open("/dev/full", number: 1, isWritable: true) }
        #expect(count() == before)
    }
}

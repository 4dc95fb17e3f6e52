// Which device a name refers to, and how it is opened.

import DBus
import DeviceNodes
import Glibc
import PermissionModel
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(2)))
@LoopActor
struct DeviceOpeningTests {

    private func device(_ number: UInt64?, at node: String) -> DeviceRecord {
        var record = Records.camera(0)
        record.node = node
        record.number = number
        return record
    }

    /// A camera whose node is /dev/null, which every machine has.
    private var null: DeviceRecord { device(UInt64(1 << 8 | 3), at: "/dev/null") }

    private func open(
        _ bench: CatalogBench, _ permission: Permission, _ name: String = "", writable: Bool? = nil
    ) async throws -> OpenedDevice {
        try await withCheckedThrowingContinuation { done in
            do throws(PermissionError) {
                try bench.catalog.open(permission, device: name, writable: writable) {
                    done.resume(with: $0.mapError { $0 as any Error })
                }
            } catch { done.resume(throwing: error) }
        }
    }

    private func failure(_ bench: CatalogBench, _ permission: Permission, _ name: String) async -> PermissionError? {
        do {
            _ = try await open(bench, permission, name)
            return nil
        } catch { return error as? PermissionError }
    }

    @Test(arguments: ["", "/dev/null", "pci0000:00/usb1/1-1/1-1:1.0-video-index0"])
    func opensByDefaultByNodeAndById(name: String) async throws {
        let opened = try await open(await CatalogBench([null]), .camera, name)
        let fd = opened.descriptor.raw
        #expect(opened.device.node == "/dev/null" && opened.isWritable)
        #expect(fcntl(fd, F_GETFD) & FD_CLOEXEC != 0)
        #expect(fcntl(fd, F_GETFL) & O_ACCMODE == O_RDWR)
        #expect(fcntl(fd, F_GETFL) & O_NONBLOCK == 0)
    }

    @Test func opensForReadingWhenAsked() async throws {
        let opened = try await open(await CatalogBench([null]), .camera, writable: false)
        #expect(fcntl(opened.descriptor.raw, F_GETFL) & O_ACCMODE == O_RDONLY)
    }

    @Test func aReceiverIsOpenedForReading() async throws {
        var record = Records.receiver(0)
        record.node = "/dev/null"
        let opened = try await open(await CatalogBench([record]), .location)
        #expect(fcntl(opened.descriptor.raw, F_GETFL) & O_ACCMODE == O_RDONLY)
    }

    @Test func openingADeviceWithoutANodeIsNotSupported() async {
        let bench = await CatalogBench([Records.adapter("hci0")])
        #expect(await failure(bench, .bluetooth, "")?.kind == .notSupported)
        #expect(await failure(bench, .location, "")?.kind == .notSupported)
        #expect(await failure(await CatalogBench([Records.receiver(0)]), .location, "geoclue")?.kind == .notSupported)
    }

    @Test func anUnknownNameIsNotFound() async {
        #expect(await failure(await CatalogBench([null]), .camera, "/dev/zero")?.kind == .notFound)
        #expect(await failure(await CatalogBench(), .camera, "x")?.kind == .notFound)
        #expect(await failure(await CatalogBench([null]), .camera, "../../etc/passwd")?.kind == .notFound)
    }

    @Test func openingWithoutAnyDeviceIsUnavailable() async {
        #expect(await failure(await CatalogBench(), .camera, "")?.kind == .deviceUnavailable)
    }

    @Test func anUnusableDeviceIsUnavailableAndSaysWhy() async {
        let bench = await CatalogBench([Records.camera(0)]) { $0.videos["/dev/video0"] = .unopened(EACCES) }
        for name in ["", "/dev/video0"] {
            let error = await failure(bench, .camera, name)
            #expect(error?.kind == .deviceUnavailable)
            #expect(error?.message.contains("permission denied") == true)
        }
    }

    @Test func anotherDeviceAtThePathIsRefused() async {
        #expect(
            await failure(await CatalogBench([device(UInt64(81 << 8), at: "/dev/null")]), .camera, "")?.kind
                == .deviceUnavailable)
        #expect(
            await failure(await CatalogBench([device(nil, at: "/proc/self/status")]), .camera, "")?.kind
                == .deviceUnavailable)
        #expect(
            await failure(await CatalogBench([device(nil, at: "/nowhere")]), .camera, "")?.kind == .deviceUnavailable)
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

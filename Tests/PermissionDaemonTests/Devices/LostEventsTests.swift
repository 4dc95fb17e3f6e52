// Device events that the kernel drops when the socket's buffer is full.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(1)))
@LoopActor
struct LostEventsTests {
    /// A UDP socket with a small buffer, and one that sends to it. The kernel counts drops as for a netlink socket.
    private struct FullSocket {
        let reader: UnixFD
        let writer: UnixFD

        init() throws {
            let socket = try LoopbackSocket(.udp)
            (reader, writer) = (socket.fd, try socket.connected())
            var room: Int32 = 1
            setsockopt(reader.raw, SOL_SOCKET, SO_RCVBUF, &room, socklen_t(MemoryLayout<Int32>.size))
        }

        func overflow() {
            let bytes = [UInt8](repeating: 0, count: 1024)
            for _ in 0..<100 { send(writer.raw, bytes, bytes.count, 0) }
        }
    }

    @Test func droppedMessagesAreCounted() throws {
        let socket = try FullSocket()
        var drops = DropCounter(socket.reader.raw)
        let before = drops.hasGrown()
        socket.overflow()
        let after = drops.hasGrown()
        let later = drops.hasGrown()
        #expect(!before && after && !later)
        var none = DropCounter(-1)
        let nothing = none.hasGrown()
        #expect(!nothing)
    }

    /// Each subsystem is reported as changed, through the handler for events.
    @Test func afterALossEverySubsystemIsReported() async throws {
        let socket = try FullSocket()
        let udev = Udev()
        let events = EventLog<[DeviceEvent]>()
        udev.start(["sound", "video4linux"]) { events.add($0) }
        #expect(udev.drops != nil)
        udev.drops = DropCounter(socket.reader.raw)
        udev.pump()
        #expect(events.all.isEmpty)
        socket.overflow()
        udev.pump()
        let reported = try await events.wait(for: 1)[0]
        #expect(reported.map(\.subsystem) == ["sound", "video4linux"])
        #expect(reported.allSatisfy { $0.syspath.isEmpty && !$0.isRemoval })
        udev.close()
    }
}

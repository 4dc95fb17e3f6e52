// The benchmark's connection: plain blocking libdbus, the same for every service measured.

import CDBus
import Glibc

/// Must be used on one thread only.
final class BenchClient {
    /// Milliseconds until a call has failed, even on a machine that is slow and filling a store.
    private static let patience: Int32 = 120_000

    private let raw: OpaquePointer

    init(_ address: String) throws {
        guard let raw = dbus_connection_open_private(address, nil) else {
            throw BenchFailure("there is no bus at \(address)")
        }
        self.raw = raw
        dbus_connection_set_exit_on_disconnect(raw, 0)
        guard dbus_bus_register(raw, nil) != 0 else {
            throw BenchFailure("the bus at \(address) refused the connection")
        }
    }

    deinit {
        dbus_connection_close(raw)
        dbus_connection_unref(raw)
    }

    /// The time in nanoseconds, on the clock used for all measurements.
    static func now() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }

    /// - Parameter atOnce: Waits until it is written; otherwise it is written with the next message that is received.
    @discardableResult
    func send(_ message: BenchMessage, atOnce: Bool = false) -> UInt32 {
        var serial: dbus_uint32_t = 0
        dbus_connection_send(raw, message.raw, &serial)
        if atOnce { dbus_connection_flush(raw) }
        return serial
    }

    /// Returns the next message of any kind; nil on timeout.
    private func receive() throws -> BenchMessage? {
        let end = BenchClient.now() + UInt64(BenchClient.patience) * 1_000_000
        while true {
            if let message = dbus_connection_pop_message(raw) { return BenchMessage(owning: message) }
            guard BenchClient.now() < end else { return nil }
            guard dbus_connection_read_write(raw, BenchClient.patience) != 0 else {
                throw BenchFailure("the connection to the bus was lost")
            }
        }
    }

    /// Makes a call and waits for the reply. An error reply makes the benchmark fail.
    @discardableResult
    func call(_ message: BenchMessage) throws -> BenchMessage {
        let serial = send(message)
        while let answer = try receive() {
            if answer.replySerial == serial { return try BenchClient.checked(answer, to: message.member) }
        }
        throw BenchFailure("no answer to \(message.member)")
    }

    /// Returns the nanoseconds from the call to its reply.
    func time(_ message: BenchMessage) throws -> UInt64 {
        let start = BenchClient.now()
        try call(message)
        return BenchClient.now() - start
    }

    /// Makes `count` calls, keeping `inFlight` of them in flight.
    func pump(_ count: Int, inFlight: Int, _ message: (Int) -> BenchMessage) throws {
        var (sent, answered) = (0, 0)
        while answered < count {
            while sent < count, sent - answered < inFlight {
                send(message(sent))
                sent += 1
            }
            guard let answer = try receive() else { throw BenchFailure("\(count - answered) replies did not arrive") }
            if answer.replySerial == 0 { continue }
            _ = try BenchClient.checked(answer, to: "a call")
            answered += 1
        }
    }

    /// Makes a call that is answered by `count` signals of that name, and returns how many came in a second.
    func rate(of signal: String, _ count: Int, after message: BenchMessage) throws -> Double {
        send(message)
        var (received, first) = (0, UInt64(0))
        while let next = try receive() {
            guard next.member == signal else {
                _ = try BenchClient.checked(next, to: message.member)
                continue
            }
            received += 1
            if received == 1 { first = BenchClient.now() }
            if received == count { return Double(count - 1) * 1e9 / Double(BenchClient.now() - first) }
        }
        throw BenchFailure("\(count - received) signals did not arrive")
    }

    private static func checked(_ answer: BenchMessage, to member: String) throws -> BenchMessage {
        guard answer.isError else { return answer }
        throw BenchFailure("\(member): \(answer.errorName): \(answer.firstText ?? "")")
    }

    // MARK: The bus

    /// Makes the bus start a service.
    func start(_ service: String) throws {
        try call(Calls.bus("StartServiceByName", [.text(service), .number(0)]))
    }

    func process(of service: String) throws -> Int32 {
        Int32(try call(Calls.bus("GetConnectionUnixProcessID", [.text(service)])).firstNumber ?? 0)
    }

    private func isOwned(_ service: String) throws -> Bool {
        try call(Calls.bus("NameHasOwner", [.text(service)])).firstNumber == 1
    }

    /// Ends a service, if it is running, and waits until its process has exited.
    func end(_ service: String) throws {
        guard try isOwned(service) else { return }
        let pid = try process(of: service)
        kill(pid, SIGTERM)
        let limit = BenchClient.now() + 20_000_000_000
        while try kill(pid, 0) == 0 || isOwned(service) {
            guard BenchClient.now() < limit else { throw BenchFailure("\(service) did not exit") }
            usleep(2000)
        }
    }
}

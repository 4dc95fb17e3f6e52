// The benchmark's connection: plain blocking libdbus, the same for every service measured.

import CDBus
import Glibc

/// Must be used on one thread only.
final class BenchClient {
    let name: String
    private let raw: OpaquePointer
    private let descriptor: Int32
    /// Calls received while waiting for a reply.
    private var calls: [BenchMessage] = []
    /// The number of requests so far; each needs its own token.
    var requests = 0

    init(_ address: String) throws {
        dbus_threads_init_default()
        guard let raw = dbus_connection_open_private(address, nil) else {
            throw BenchFailure("there is no bus at \(address)")
        }
        dbus_connection_set_exit_on_disconnect(raw, 0)
        guard dbus_bus_register(raw, nil) != 0, let name = dbus_bus_get_unique_name(raw) else {
            throw BenchFailure("the bus at \(address) refused the connection")
        }
        var descriptor: Int32 = -1
        dbus_connection_get_unix_fd(raw, &descriptor)
        self.raw = raw
        self.name = String(cString: name)
        self.descriptor = descriptor
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

    @discardableResult
    func send(_ message: BenchMessage) -> UInt32 {
        var serial: dbus_uint32_t = 0
        dbus_connection_send(raw, message.raw, &serial)
        return serial
    }

    /// Returns the next message of any kind; nil on timeout.
    func receive(milliseconds: Int32 = 60_000) throws -> BenchMessage? {
        let end = BenchClient.now() + UInt64(milliseconds) * 1_000_000
        while true {
            if let message = dbus_connection_pop_message(raw) { return BenchMessage(owning: message) }
            let now = BenchClient.now()
            if now >= end { return nil }
            guard dbus_connection_read_write(raw, Int32((end - now) / 1_000_000 + 1)) != 0 else {
                throw BenchFailure("the connection to the bus was lost")
            }
        }
    }

    /// Makes a call and waits for the reply. An error reply makes the benchmark fail.
    @discardableResult
    func call(_ message: BenchMessage, milliseconds: Int32 = 120_000) throws -> BenchMessage {
        let serial = send(message)
        while let answer = try receive(milliseconds: milliseconds) {
            if answer.isCall { calls.append(answer) }
            guard answer.replySerial == serial else { continue }
            return try BenchClient.checked(answer, to: message)
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
        var sent = 0
        var answered = 0
        while answered < count {
            while sent < count, sent - answered < inFlight {
                send(message(sent))
                sent += 1
            }
            guard let answer = try receive() else { throw BenchFailure("\(count - answered) replies did not arrive") }
            if answer.replySerial == 0 { continue }
            _ = try BenchClient.checked(answer, to: nil)
            answered += 1
        }
    }

    /// Waits for the next incoming call of that method.
    func nextCall(_ member: String) throws -> BenchMessage {
        while true {
            if !calls.isEmpty {
                let call = calls.removeFirst()
                if call.member == member { return call }
                continue
            }
            guard let message = try receive() else { throw BenchFailure("no call of \(member) arrived") }
            if message.isCall { calls.append(message) }
        }
    }

    /// Waits for the next signal with that name; other messages are dropped.
    func nextSignal(_ member: String) throws {
        while let message = try receive() {
            if !message.isCall, message.replySerial == 0, message.member == member { return }
        }
        throw BenchFailure("no signal \(member) arrived")
    }

    func forgetCalls() { calls = [] }

    func reply(to call: BenchMessage, _ values: [BenchValue] = []) {
        guard let raw = dbus_message_new_method_return(call.raw) else { return }
        let reply = BenchMessage(owning: raw)
        reply.append(values)
        send(reply)
    }

    private static func checked(_ answer: BenchMessage, to call: BenchMessage?) throws -> BenchMessage {
        guard answer.isError else { return answer }
        throw BenchFailure("\(call?.member ?? "a call"): \(answer.errorName): \(answer.firstText ?? "")")
    }

    // MARK: The bus

    private static func bus(_ member: String, _ arguments: [BenchValue]) -> BenchMessage {
        .call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member, arguments)
    }

    /// Makes the bus start a service and returns its PID.
    func start(_ service: String) throws -> Int32 {
        try call(BenchClient.bus("StartServiceByName", [.text(service), .number(0)]))
        return try process(of: service)
    }

    func process(of service: String) throws -> Int32 {
        let answer = try call(BenchClient.bus("GetConnectionUnixProcessID", [.text(service)]))
        return Int32(answer.firstNumber ?? 0)
    }

    /// Sets variables for services that the bus starts from now on.
    func setEnvironment(_ variables: [String: String]) throws {
        try call(BenchClient.bus("UpdateActivationEnvironment", [.table(variables.map { ($0.key, $0.value) })]))
    }

    func isOwned(_ service: String) throws -> Bool {
        try call(BenchClient.bus("NameHasOwner", [.text(service)])).firstNumber == 1
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

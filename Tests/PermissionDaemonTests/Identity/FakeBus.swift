// A message bus that reports processes in a form chosen by the test, whichever form this machine's buses use.

import DBus
import Dispatch
import Foundation
import Glibc
import PermissionTestKit
import ProcessIdentity
import TestSupport

final class FakeBus: Sendable {
    enum Form: CaseIterable {
        /// With a pidfd of each connection's process.
        case pidfds
        /// With its process ID only.
        case processIDs
    }

    private struct Clients {
        var byName: [String: RawBusClient] = [:]
        var lastNumber = 0
    }

    private static let name = "org.freedesktop.DBus"

    let address: String
    private let form: Form
    private let folder: TemporaryFolder
    private let listener: UnixFD
    /// ThreadSanitizer does not see who waits for a Mutex, which is in a library without it.
    private let lock = NSLock()
    // SAFETY: used with the lock held.
    private nonisolated(unsafe) var clients = Clients()

    init(_ form: Form) throws {
        self.form = form
        folder = try TemporaryFolder()
        let path = folder.file("bus")
        address = "unix:path=\(path)"
        listener = try UnixSocket.bind(path, SOCK_STREAM)
        guard listen(listener.raw, 64) == 0 else { throw TestKitError("cannot listen at \(path)") }
    }

    /// Connects a client of this process, which is served until it leaves.
    @LoopActor func connect() throws -> Connection {
        DispatchQueue(label: "fake bus").async { self.serve() }
        return try Connection.open(.address(address))
    }

    private func serve() {
        guard let client = try? RawBusClient(accepted: accept(listener.raw, nil, nil)) else { return }
        var name = ""
        while let call = try? client.receive() {
            lock.withLock {
                if call.member == "Hello" {
                    clients.lastNumber += 1
                    name = ":1.\(clients.lastNumber)"
                    clients.byName[name] = client
                    answer(call, to: name, "s", RawMessage.string(name), clients)
                    announce(name, from: "", to: name, clients)
                } else {
                    answer(call, to: name, clients)
                }
            }
        }
        lock.withLock {
            clients.byName[name] = nil
            announce(name, from: name, to: "", clients)
        }
    }

    private func answer(_ call: RawMessage, to name: String, _ clients: Clients) {
        let pid = RawMessage.number(UInt32(getpid()))
        switch call.member {
        case "GetConnectionCredentials":
            let pidfds = form == .pidfds ? [UnixFD(owning: Pidfd.open(getpid()))] : []
            let entries =
                [FakeBus.property("ProcessID", "u", pid)]
                + pidfds.map { _ in FakeBus.property("ProcessFD", "h", RawMessage.number(0)) }
            answer(
                call, to: name, "a{sv}", FakeBus.array(entries, alignment: 8), clients, pidfds.map(\.raw))
            withExtendedLifetime(pidfds) {}
        case "GetConnectionUnixProcessID": answer(call, to: name, "u", pid, clients)
        case "GetId": answer(call, to: name, "s", RawMessage.string(address), clients)
        case "ListNames":
            let names = clients.byName.keys.map(RawMessage.string)
            answer(call, to: name, "as", FakeBus.array(names, alignment: 4), clients)
        default: answer(call, to: name, "", [], clients)
        }
    }

    private func answer(
        _ call: RawMessage, to name: String, _ signature: String, _ body: [UInt8], _ clients: Clients,
        _ descriptors: [Int32] = []
    ) {
        guard call.expectsReply else { return }
        var reply = RawMessage(.methodReturn, to: name)
        reply.replySerial = call.serial
        send(reply, signature, body, to: name, clients, descriptors)
    }

    private func announce(_ name: String, from old: String, to new: String, _ clients: Clients) {
        var body: [UInt8] = []
        for text in [name, old, new] { body = FakeBus.padded(body, to: 4) + RawMessage.string(text) }
        for receiver in clients.byName.keys {
            var signal = RawMessage(.signal, to: receiver)
            (signal.path, signal.interface) = ("/org/freedesktop/DBus", FakeBus.name)
            signal.member = "NameOwnerChanged"
            send(signal, "sss", body, to: receiver, clients)
        }
    }

    /// A client that has left is not reached.
    private func send(
        _ message: RawMessage, _ signature: String, _ body: [UInt8], to name: String, _ clients: Clients,
        _ descriptors: [Int32] = []
    ) {
        var message = message
        // The sender.
        message.furtherFields = [(7, FakeBus.name)]
        (message.signature, message.body) = (signature, body)
        _ = try? clients.byName[name]?.send(message, descriptors: descriptors)
    }

    private static func padded(_ bytes: [UInt8], to alignment: Int) -> [UInt8] {
        bytes + [UInt8](repeating: 0, count: (alignment - bytes.count % alignment) % alignment)
    }

    private static func property(_ name: String, _ type: Character, _ value: [UInt8]) -> [UInt8] {
        padded(RawMessage.string(name) + [1, type.asciiValue ?? 0, 0], to: 4) + value
    }

    private static func array(_ elements: [[UInt8]], alignment: Int) -> [UInt8] {
        let content = elements.reduce([]) { padded($0, to: alignment) + $1 }
        return padded(RawMessage.number(UInt32(content.count)), to: alignment) + content
    }
}

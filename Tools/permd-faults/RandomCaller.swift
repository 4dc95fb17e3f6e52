// The process that makes random calls, plain or sandboxed. Every call must be answered.

import DBus
import Glibc
import PermissionModel

/// `permd-faults caller SEED CALLS`: prints `calls N`, `answers N`, and `lost TEXT` for each call without an answer.
@LoopActor
enum RandomCaller {
    /// The number of concurrent calls.
    private static let width = 24
    /// The number of calls per connection. Closing a connection ends its requests.
    private static let callsPerConnection = 400
    /// The timeout in milliseconds, far longer than a busy permd needs.
    private static let patience: Int32 = 40_000

    static func main(_ arguments: [String]) async -> Int32 {
        guard arguments.count == 2, let seed = UInt64(arguments[0]), let count = Int(arguments[1]) else { return 64 }
        var random = RandomMessage(dice: Dice(seed: seed))
        var left = count
        var answers = 0
        var errors: [String: Int] = [:]
        while left > 0 {
            let batch = min(left, callsPerConnection)
            left -= batch
            guard let connection = try? Connection.open(.session) else {
                Report.say("lost no connection to the bus")
                return 1
            }
            let members = await members(connection)
            guard members.count > 15 else {
                Report.say("lost introspection lists only \(members.count) members")
                return 1
            }
            let paths =
                members.map(\.path) + [
                    "/", "/org", "/org/permd/request", "/org/permd/request/1_1/t", "/org/permd/nothing",
                    BusNames.requestPath(owner: connection.uniqueName, token: "app"),
                ]
            for start in stride(from: 0, to: batch, by: width) {
                let messages = (start..<min(batch, start + width)).map { _ in
                    random.call(random.dice.pick(members), paths: paths)
                }
                for error in await send(messages, on: connection) { errors[error, default: 0] += 1 }
                answers += messages.count
            }
            connection.close()
        }
        Report.say("calls \(count)")
        Report.say("answers \(answers - errors["unanswered", default: 0])")
        for (name, count) in errors.sorted(by: { $0.key < $1.key }) { Report.say("error \(count) \(name)") }
        return 0
    }

    /// Makes the calls and returns the names of all errors; `unanswered` for calls without a reply.
    private static func send(_ messages: [Message], on connection: Connection) async -> [String] {
        var calls: [Task<String?, Never>] = []
        for message in messages { calls.append(Task { await send(message, on: connection) }) }
        var errors: [String] = []
        for call in calls { if let error = await call.value { errors.append(error) } }
        return errors
    }

    private static func send(_ message: Message, on connection: Connection) async -> String? {
        do throws(BusError) {
            _ = try await connection.call(message, timeoutMilliseconds: patience)
            return nil
        } catch {
            guard Place.deaths.contains(error.name) else { return error.name }
            let what = "\(message.interface ?? "").\(message.member ?? "") \(message.body.map(\.signature))"
            Report.say("lost \(what.prefix(300)): \(error.name) \(error.message.prefix(200))")
            return "unanswered"
        }
    }

    /// All methods in permd's introspection data, and Close of this connection's request, which exists only while it
    /// waits.
    private static func members(_ connection: Connection) async -> [RandomMessage.Member] {
        var members: [RandomMessage.Member] = []
        for path in [BusNames.root, BusNames.portalRoot] {
            let call = Message.call(
                destination: BusNames.service, path: path, interface: StandardInterfaces.introspectable,
                member: "Introspect")
            guard let xml = (try? await connection.call(call))?.body.first?.stringValue else { continue }
            members += parse(xml, path)
        }
        let own = BusNames.requestPath(owner: connection.uniqueName, token: "app")
        members.append(.init(path: own, interface: BusNames.request, name: "Close", signature: ""))
        return members
    }

    /// Returns the methods in introspection data, in which permd writes one element per line.
    private static func parse(_ xml: String, _ path: String) -> [RandomMessage.Member] {
        var members: [RandomMessage.Member] = []
        var interface = ""
        var isMethod = false
        for element in xml.split(separator: "<") {
            func attribute(_ name: String) -> String? {
                guard let start = element.range(of: " \(name)=\"") else { return nil }
                return String(element[start...].prefix { $0 != "\"" })
            }
            if element.hasPrefix("interface ") {
                interface = attribute("name") ?? ""
            } else if element.hasPrefix("method ") {
                members.append(.init(path: path, interface: interface, name: attribute("name") ?? "", signature: ""))
                isMethod = true
            } else if element.hasPrefix("signal ") || element.hasPrefix("property ") {
                isMethod = false
            } else if element.hasPrefix("arg "), isMethod, attribute("direction") != "out", !members.isEmpty {
                members[members.count - 1].signature += attribute("type") ?? ""
            }
        }
        return members
    }
}

extension Substring {
    /// Returns the index after `text`; nil if it does not occur.
    fileprivate func range(of text: String) -> Substring.Index? {
        var rest = self
        while !rest.isEmpty {
            if rest.hasPrefix(text) { return rest.index(rest.startIndex, offsetBy: text.count) }
            rest = rest.dropFirst()
        }
        return nil
    }
}

// Objects defined by tables: dispatch, authorization, properties, introspection, and per-caller visibility.

import Glibc
import PermissionTestKit
import Testing

@testable import DBus

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ObjectServerTests {
    private static let subtree = "/org/example/Request"
    private static let callers = CallerClass(rawValue: "everybody")

    private func serve(_ fixture: Fixture) -> ObjectServer {
        let server = ObjectServer(connection: fixture.service) { call, explanation in
            call.fail(name: "org.example.Error.InvalidArguments", body: [.string(explanation), .bool(false)])
        }
        let echo = Method(
            name: "Echo", inputs: ["text": "s", "number": "u"], outputs: ["text": "s"],
            callers: ObjectServerTests.callers
        ) { call in
            call.reply(call.arguments[0])
            call.reply(.string("twice"))
            call.fail(name: "org.example.Error.Late", body: [])
        }
        let interface = Interface(
            name: Fixture.interface,
            methods: [echo, Method(name: "Unassigned", inputs: [:], outputs: [:]) { call in call.reply() }],
            signals: [Signal("Changed", ["what": "s"])],
            properties: [
                Property("Version", "u") { _ in .uint32(1) },
                Property("Caller", "s") { .string($0.sender) },
            ], readers: ObjectServerTests.callers)
        server.add(interface, at: Fixture.path)
        let visibleTo = fixture.client.uniqueName
        server.addSubtree(
            prefix: ObjectServerTests.subtree,
            ObjectTree(
                interfaces: { path, sender in
                    sender == visibleTo && path == "\(ObjectServerTests.subtree)/mine" ? [interface] : nil
                },
                children: { path, sender in
                    sender == visibleTo && path == ObjectServerTests.subtree ? ["mine"] : []
                }))
        return server
    }

    private func call(
        _ connection: Connection, _ fixture: Fixture, _ member: String, _ body: [Value] = [],
        path: String = Fixture.path, interface: String = Fixture.interface
    ) async throws(BusError) -> Value? {
        let message = Message.call(
            destination: fixture.service.uniqueName, path: path, interface: interface, member: member, body)
        return try await connection.call(message).body.first
    }

    private func introspect(_ connection: Connection, _ fixture: Fixture, _ path: String) async throws(BusError)
        -> String
    {
        try await call(
            connection, fixture, "Introspect", path: path, interface: "org.freedesktop.DBus.Introspectable")?
            .stringValue ?? ""
    }

    @Test(arguments: buses)
    func methodsAreAnsweredOnce(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        let server = serve(fixture)
        #expect(try await call(fixture.client, fixture, "Echo", [.string("a"), .uint32(1)]) == .string("a"))
        withExtendedLifetime(server) {}
        await fixture.end()
    }

    /// Descriptors of other calls are closed before the call waits for anything.
    @Test(arguments: buses)
    func onlySomeMethodsTakeDescriptors(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        let server = serve(fixture)
        let taken = EventLog<Bool>()
        func method(_ name: String, takes: Bool) -> Method {
            Method(name: name, inputs: ["who": "v"], outputs: [:], callers: nil, takesDescriptors: takes) { call in
                if case .variant(.unixFD) = call.arguments[0] { taken.add(takes) }
                call.reply()
            }
        }
        server.add(
            Interface(
                name: "org.example.Takes", methods: [method("Take", takes: true), method("Other", takes: false)]),
            at: Fixture.path)
        let file = Value.variant(.unixFD(UnixFD(owning: open("/dev/null", O_RDONLY))))
        func pass(_ member: String, _ value: Value) async -> String? {
            do throws(BusError) {
                _ = try await call(fixture.client, fixture, member, [value], interface: "org.example.Takes")
                return nil
            } catch { return error.name }
        }
        let refused = "org.example.Error.InvalidArguments"
        #expect(await pass("Take", file) == nil)
        #expect(await pass("Other", file) == refused)
        #expect(await pass("Other", .variant(.bool(true))) == nil)
        #expect(await pass("Missing", file) == refused)
        server.mayPassDescriptors = { [name = fixture.client.uniqueName] in $0 != name }
        #expect(await pass("Take", file) == refused)
        #expect(await pass("Take", .variant(.bool(true))) == nil)
        #expect(taken.all == [true])
        await fixture.end()
    }

    /// One caller's waiting calls hold 64 descriptors at most.
    @Test(arguments: buses)
    func waitingDescriptorsAreBounded(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        let calls = EventLog<Bool>()
        fixture.service.methodHandler = { _ in calls.add(true) }
        fixture.service.floodHandler = { _ in calls.add(false) }
        let file = UnixFD(owning: open("/dev/null", O_RDONLY))
        for _ in 0..<100 { fixture.client.send(fixture.message("Any", [.unixFD(file)])) }
        _ = try fixture.client.requestName("org.example.Client")
        _ = try fixture.service.requestName("org.example.Service")
        let handled = try await calls.wait(for: 100).count { $0 }
        #expect(handled >= 32 && handled <= 64)
        await fixture.end()
    }

    @Test func unknownMembersGetTheStandardErrors() async throws {
        let fixture = try await Fixture()
        let server = serve(fixture)
        let properties = "org.freedesktop.DBus.Properties"
        let arguments: [(String, [Value], String, String, String)] = [
            ("Nothing", [], Fixture.path, Fixture.interface, BusError.Name.unknownMethod),
            ("Echo", [], Fixture.path, "org.example.Other", BusError.Name.unknownInterface),
            ("Echo", [], "/nothing", Fixture.interface, BusError.Name.unknownObject),
            (
                "Get", [.string(Fixture.interface), .string("No")], Fixture.path, properties,
                BusError.Name.unknownProperty
            ),
            (
                "Get", [.string("org.example.No"), .string("No")], Fixture.path, properties,
                BusError.Name.unknownInterface
            ),
            (
                "Set", [.string(Fixture.interface), .string("Version"), .variant(.uint32(2))], Fixture.path, properties,
                BusError.Name.propertyReadOnly
            ),
            ("GetAll", [.string(Fixture.interface)], "/nothing", properties, BusError.Name.unknownObject),
            ("Introspect", [], "/nothing", "org.freedesktop.DBus.Introspectable", BusError.Name.unknownObject),
        ]
        for (member, body, path, interface, name) in arguments {
            let error = await failure { () throws(BusError) in
                _ = try await call(fixture.client, fixture, member, body, path: path, interface: interface)
            }
            #expect(error?.name == name, "\(member) \(path) \(interface)")
        }
        withExtendedLifetime(server) {}
        await fixture.end()
    }

    @Test func wrongSignaturesAreExplained() async throws {
        let fixture = try await Fixture()
        let server = serve(fixture)
        for body: [Value] in [[], [.string("a")], [.uint32(1), .string("a")], [.string("a"), .uint32(1), .byte(1)]] {
            let error = await failure { () throws(BusError) in _ = try await call(fixture.client, fixture, "Echo", body)
            }
            #expect(error?.name == "org.example.Error.InvalidArguments")
            #expect(error?.body.last == .bool(false))
        }
        withExtendedLifetime(server) {}
        await fixture.end()
    }

    /// What costs time to decode is refused or passed over before that.
    @Test func costlyArgumentsAreNotDecoded() async throws {
        let fixture = try await Fixture()
        let server = serve(fixture)
        let interface = "org.example.Options"
        let method = Method(
            name: "Read", inputs: ["list": "as", "options": "a{sv}"], outputs: [:], options: ["known"]
        ) { $0.reply($0.arguments[1]) }
        server.add(Interface(name: interface, methods: [method]), at: Fixture.path)
        func read(_ body: [Value]) async throws(BusError) -> Value? {
            try await call(fixture.client, fixture, "Read", body, interface: interface)
        }
        let bytes = Value.array(of: "y", [Value](repeating: .byte(7), count: 256 << 10))
        let known = Value.properties(["known": .bool(true)])
        let options = Value.properties(["known": .bool(true), "bytes": bytes, "other": .variant(bytes)])
        #expect(try await read([.strings([]), options]) == known)
        let list = Value.strings([String](repeating: "", count: 32_000))
        for body in [[bytes], [list, known], [.strings([]), .properties(["known": bytes])]] {
            let error = await failure { () throws(BusError) in _ = try await read(body) }
            #expect(error?.name == "org.example.Error.InvalidArguments")
        }
        withExtendedLifetime(server) {}
        await fixture.end()
    }

    @Test(arguments: buses)
    func propertiesAreRead(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        let server = serve(fixture)
        let properties = "org.freedesktop.DBus.Properties"
        let one = try await call(
            fixture.client, fixture, "Get", [.string(Fixture.interface), .string("Version")], interface: properties)
        #expect(one == .variant(.uint32(1)))
        let all = try await call(
            fixture.client, fixture, "GetAll", [.string(Fixture.interface)], interface: properties)
        #expect(all?.properties == ["Version": .uint32(1), "Caller": .string(fixture.client.uniqueName)])
        withExtendedLifetime(server) {}
        await fixture.end()
    }

    @Test func theAuthorizerDelaysAndRefusesCalls() async throws {
        let fixture = try await Fixture()
        let server = serve(fixture)
        let passed = EventLog<String>()
        server.authorize = { call, callers, proceed in
            #expect(callers == ObjectServerTests.callers)
            passed.add(call.message.member ?? "")
            // They are not decoded yet.
            #expect(call.arguments.isEmpty || call.message.interface != Fixture.interface)
            if passed.all.count == 2 {
                return call.fail(name: "org.example.Error.AccessDenied", body: [])
            }
            Loop.shared.after(milliseconds: 1) { proceed() }
        }
        #expect(try await call(fixture.client, fixture, "Echo", [.string("a"), .uint32(1)]) == .string("a"))
        let error = await failure { () throws(BusError) in
            _ = try await call(fixture.client, fixture, "Echo", [.string("refuse"), .uint32(1)])
        }
        #expect(error?.name == "org.example.Error.AccessDenied")
        _ = try await call(
            fixture.client, fixture, "GetAll", [.string(Fixture.interface)],
            interface: "org.freedesktop.DBus.Properties")
        #expect(passed.all == ["Echo", "Echo", "GetAll"])
        // The row of this method does not say who may call it.
        let nobody = await failure { () throws(BusError) in
            _ = try await call(fixture.client, fixture, "Unassigned")
        }
        #expect(nobody?.name == BusError.Name.accessDenied)
        await fixture.end()
    }

    @Test(arguments: buses)
    func introspectionDescribesTheTables(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        let server = serve(fixture)
        let text = try await introspect(fixture.client, fixture, Fixture.path)
        #expect(text.hasPrefix("<!DOCTYPE node PUBLIC"))
        for part in [
            "<interface name=\"org.example.Echo1\">", "<arg name=\"text\" type=\"s\" direction=\"in\"/>",
            "<arg name=\"number\" type=\"u\" direction=\"in\"/>", "<arg name=\"text\" type=\"s\" direction=\"out\"/>",
            "<signal name=\"Changed\">", "<property name=\"Version\" type=\"u\" access=\"read\">", "value=\"true\"",
            "org.freedesktop.DBus.Introspectable", "org.freedesktop.DBus.Properties", "PropertiesChanged",
            "org.freedesktop.DBus.Peer",
        ] { #expect(text.contains(part), "\(part)") }
        let root = try await introspect(fixture.client, fixture, "/")
        #expect(root.contains("<node name=\"org\"/>"))
        withExtendedLifetime(server) {}
        await fixture.end()
    }

    @Test func subtreesShowEachCallerItsOwnObjects() async throws {
        let fixture = try await Fixture()
        let server = serve(fixture)
        let stranger = try fixture.bus.connect()
        let mine = "\(ObjectServerTests.subtree)/mine"
        #expect(try await introspect(fixture.client, fixture, ObjectServerTests.subtree).contains("\"mine\""))
        #expect(try await introspect(fixture.client, fixture, "/org/example").contains("\"Request\""))
        #expect(try await introspect(fixture.client, fixture, mine).contains(Fixture.interface))
        #expect(
            try await call(fixture.client, fixture, "Echo", [.string("a"), .uint32(1)], path: mine) == .string("a"))
        #expect(try await !introspect(stranger, fixture, "/org/example").contains("\"Request\""))
        for path in [mine, "\(ObjectServerTests.subtree)/nothing"] {
            let error = await failure { () throws(BusError) in _ = try await introspect(stranger, fixture, path) }
            #expect(error?.name == BusError.Name.unknownObject)
            let called = await failure { () throws(BusError) in
                _ = try await call(stranger, fixture, "Echo", [.string("a"), .uint32(1)], path: path)
            }
            #expect(called?.name == BusError.Name.unknownObject)
        }
        stranger.close()
        withExtendedLifetime(server) {}
        await fixture.end()
    }

    @Test func pingIsAnswered() async throws {
        let fixture = try await Fixture()
        let server = serve(fixture)
        #expect(try await call(fixture.client, fixture, "Ping", interface: "org.freedesktop.DBus.Peer") == nil)
        withExtendedLifetime(server) {}
        await fixture.end()
    }
}

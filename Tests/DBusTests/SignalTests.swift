// Signals: who receives them, whose are accepted, and names that vanish.

import DBus
import Glibc
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct SignalTests {
    private func signal(_ member: String = "Changed", to destination: String? = nil, _ body: [Value] = []) -> Message {
        .signal(path: Fixture.path, interface: Fixture.interface, member: member, body, destination: destination)
    }

    @Test(arguments: buses)
    func unicastReachesItsReceiverOnly(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        let other = try fixture.bus.connect()
        let heard = EventLog<String>()
        fixture.client.onSignal(interface: Fixture.interface, addMatch: false) { _ in heard.add("client") }
        other.onSignal(interface: Fixture.interface) { heard.add("other: \($0.member ?? "")") }
        _ = try await other.call(ping)
        fixture.service.send(signal(to: fixture.client.uniqueName))
        fixture.service.send(signal("Broadcast"))
        #expect(try await Set(heard.wait(for: 2)) == ["client", "other: Broadcast"])
        other.close()
        await fixture.end()
    }

    @Test(arguments: buses)
    func patternsSelect(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        let heard = EventLog<String>()
        fixture.client.onSignal(sender: fixture.service.uniqueName, path: Fixture.path, member: "A") { _ in
            heard.add("member")
        }
        fixture.client.onSignal(interface: Fixture.interface, firstArgument: "it's") { _ in heard.add("argument") }
        let token = fixture.client.onSignal(interface: Fixture.interface) { _ in heard.add("cancelled") }
        token.cancel()
        token.cancel()
        _ = try await fixture.client.call(ping)
        fixture.service.send(signal("A"))
        fixture.service.send(signal("B", [.string("it's")]))
        fixture.service.send(signal("B", [.string("other")]))
        try await fixture.settle()
        #expect(heard.all == ["member", "argument"])
        await fixture.end()
    }

    /// Others are closed as they arrive.
    @Test(arguments: buses)
    func descriptorsAreForSubscriptionsThatTakeThem(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        let heard = EventLog<String>()
        let file = UnixFD(owning: open("/dev/null", O_RDONLY | O_CLOEXEC))
        let client = fixture.client
        client.onSignal(
            sender: fixture.service.uniqueName, member: "Taken", addMatch: false, takesDescriptors: true
        ) { heard.add("taken \($0.body.first?.unixFDValue.map { $0.raw >= 0 } == true)") }
        client.onSignal(member: "Dropped", addMatch: false) { _ in heard.add("dropped") }
        let stranger = try fixture.bus.connect()
        stranger.send(signal("Taken", to: client.uniqueName, [.unixFD(file)]))
        _ = try await stranger.call(ping)
        for member in ["Dropped", "Taken"] {
            fixture.service.send(signal(member, to: client.uniqueName, [.unixFD(file)]))
        }
        try await fixture.settle()
        #expect(heard.all == ["taken true"])
        stranger.close()
        await fixture.end()
    }

    @Test func wellKnownSenderIsChecked() async throws {
        let fixture = try await Fixture()
        let heard = EventLog<String>()
        fixture.client.onSignal(sender: "org.example.Echo", member: "Changed", addMatch: false) {
            heard.add($0.sender ?? "")
        }
        // The name has no owner, so no sender is accepted.
        fixture.service.send(signal(to: fixture.client.uniqueName))
        try await fixture.settle()
        #expect(heard.all.isEmpty)
        #expect(try fixture.service.requestName("org.example.Echo"))
        let forger = try fixture.bus.connect()
        forger.send(signal(to: fixture.client.uniqueName))
        forger.flush()
        _ = try await forger.call(ping)
        fixture.service.send(signal(to: fixture.client.uniqueName))
        #expect(try await heard.wait(for: 1) == [fixture.service.uniqueName])
        // The name gets a new owner, whose signals are now accepted.
        fixture.service.releaseName("org.example.Echo")
        fixture.service.send(signal(to: fixture.client.uniqueName))
        try await fixture.settle()
        #expect(try forger.requestName("org.example.Echo"))
        forger.send(signal(to: fixture.client.uniqueName))
        #expect(try await heard.wait(for: 2) == [fixture.service.uniqueName, forger.uniqueName])
        forger.close()
        await fixture.end()
    }

    @Test func handlersMayCancelEachOther() async throws {
        let fixture = try await Fixture()
        let heard = EventLog<String>()
        var second: Subscription?
        var first: Subscription?
        first = fixture.client.onSignal(member: "Changed") { _ in
            heard.add("first")
            first?.cancel()
            second?.cancel()
        }
        second = fixture.client.onSignal(member: "Changed") { _ in heard.add("second") }
        _ = try await fixture.client.call(ping)
        fixture.service.send(signal())
        fixture.service.send(signal())
        try await fixture.settle()
        #expect(heard.all == ["first"])
        await fixture.end()
    }

    @Test(arguments: buses)
    func vanishedNamesAreNoticed(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        let heard = EventLog<String>()
        let other = try fixture.bus.connect()
        let name = other.uniqueName
        _ = fixture.client.whenNameVanishes(name) { heard.add("gone") }
        fixture.client.whenNameVanishes(name) { heard.add("cancelled") }.cancel()
        _ = fixture.client.whenNameVanishes(fixture.service.uniqueName) { heard.add("still there") }
        _ = try await fixture.client.call(ping)
        #expect(heard.all.isEmpty)
        other.close()
        #expect(try await heard.wait(for: 1) == ["gone"])
        // The name vanished before the call.
        _ = fixture.client.whenNameVanishes(name) { heard.add("was gone") }
        #expect(try await heard.wait(for: 2) == ["gone", "was gone"])
        try await fixture.settle()
        #expect(heard.all.count == 2)
        await fixture.end()
    }

    @Test func forgedNameOwnerChangedIsIgnored() async throws {
        let fixture = try await Fixture()
        let heard = EventLog<String>()
        let victim = try fixture.bus.connect()
        _ = fixture.client.whenNameVanishes(victim.uniqueName) { heard.add("gone") }
        fixture.service.send(
            .signal(
                path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus", member: "NameOwnerChanged",
                [.string(victim.uniqueName), .string(victim.uniqueName), .string("")],
                destination: fixture.client.uniqueName))
        try await fixture.settle()
        #expect(heard.all.isEmpty)
        victim.close()
        await fixture.end()
    }

    private var ping: Message {
        .call(
            destination: "org.freedesktop.DBus", path: "/org/freedesktop/DBus", interface: "org.freedesktop.DBus",
            member: "GetId")
    }
}

// Values sent over a real bus and back, and invalid values that must not be sent.

import Glibc
import PermissionTestKit
import Testing

@testable import DBus

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ValueTests {
    nonisolated static let everyType: [Value] = [
        .byte(255), .bool(true), .bool(false), .int16(.min), .uint16(.max), .int32(.min), .uint32(.max),
        .int64(.min), .uint64(.max), .double(-0.5), .string(""), .string("Ünï \u{1F4F7} 漢字"),
        .objectPath("/"), .objectPath("/a/b_1"), .signature(""), .signature("a{s(iv)}"),
        .variant(.variant(.string("deep"))), .strings([]), .strings(["a", "b"]),
        .array(of: "y", [.byte(0), .byte(1)]), .array(of: "aai", [.array(of: "ai", [.array(of: "i", [.int32(1)])])]),
        .structure([.string("x"), .structure([.uint32(1), .variant(.bool(true))])]),
        .stringTable(["b": "2", "a": "1"]), .stringTable([(String, String)]()),
        .properties(["list": .strings(["p"]), "none": .array(of: "(so)", [])]),
        .rows([["k": .uint64(7)], [:]]),
        .dictionary(
            key: "u", value: "a{sv}", [DictionaryEntry(.uint32(3), .properties(["in": .double(1)]))]),
    ]

    @Test(arguments: buses)
    func everyTypeComesBack(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        fixture.echo()
        for value in ValueTests.everyType {
            #expect(try await fixture.call("Echo", [value]) == [value], "\(value.signature)")
        }
        #expect(try await fixture.call("Echo", ValueTests.everyType) == ValueTests.everyType)
        await fixture.end()
    }

    @Test(arguments: buses)
    func descriptorsArrive(_ kind: PrivateBus.Kind) async throws {
        let fixture = try await Fixture(kind)
        fixture.echo()
        let folder = try TemporaryFolder()
        let file = UnixFD(owning: open(try folder.write("inside", to: "file"), O_RDONLY | O_CLOEXEC))
        let answer = try await fixture.call("Echo", [.structure([.unixFD(file)])])
        let received = try #require(answer.first?.elements?.first?.unixFDValue)
        #expect(received.raw != file.raw)
        #expect(fcntl(received.raw, F_GETFD) & FD_CLOEXEC != 0)
        var text = [UInt8](repeating: 0, count: 6)
        #expect(pread(received.raw, &text, 6, 0) == 6)
        #expect(String(decoding: text, as: UTF8.self) == "inside")
        await fixture.end()
    }

    @Test func descriptorHasOneOwner() {
        let raw = open("/dev/null", O_RDONLY | O_CLOEXEC)
        let fd = UnixFD(owning: raw)
        #expect(fd.take() == raw)
        #expect(fd.take() == -1)
        #expect(fd.raw == -1)
        #expect(fcntl(raw, F_GETFD) >= 0)
        close(raw)
    }

    static let unsendable: [Value] = [
        .string("a\0b"), .objectPath(""), .objectPath("a/b"), .objectPath("/a/"), .objectPath("/a\0"),
        .signature("a"), .signature("("), .structure([]), .array(of: "", []), .array(of: "ss", []),
        .array(of: "s\0", []), .array(of: "s", [.uint32(1)]), .dictionary(key: "v", value: "s", []),
        .dictionary(key: "s", value: "ss", []),
        .dictionary(key: "s", value: "v", [DictionaryEntry(.string("k"), .string("no variant"))]),
        .variant(.structure([])), .unixFD(UnixFD(owning: -1)),
    ]

    @Test func invalidValuesAreNotSent() async throws {
        let fixture = try await Fixture()
        fixture.echo()
        for value in ValueTests.unsendable {
            let error = await failure { () throws(BusError) in _ = try await fixture.call("Echo", [value]) }
            #expect(error?.name == BusError.Name.invalidArgs, "\(value)")
        }
        // A reply that cannot be sent becomes an error, because the caller would wait otherwise.
        fixture.service.methodHandler = { fixture.service.reply(to: $0, [.objectPath("no path")]) }
        let error = await failure { () throws(BusError) in _ = try await fixture.call() }
        #expect(error?.name == BusError.Name.failed)
        fixture.echo()
        #expect(try await fixture.call("Echo", [.byte(1)]) == [.byte(1)])
        await fixture.end()
    }

    @Test func numberOfArgumentsIsBounded() async throws {
        let fixture = try await Fixture()
        fixture.echo()
        let many = [Value](repeating: .byte(1), count: 256)
        let error = await failure { () throws(BusError) in _ = try await fixture.call("Echo", many) }
        #expect(error?.name == BusError.Name.invalidArgs)
        #expect(try await fixture.call("Echo", many.dropLast()).count == 255)
        await fixture.end()
    }

    @Test func accessorsGiveNilForOtherTypes() {
        let value = Value.objectPath("/a")
        #expect(value.stringValue == nil)
        #expect(value.objectPathValue == "/a")
        #expect(value.strings == nil && value.rows == nil && value.properties == nil && value.elements == nil)
        #expect(Value.array(of: "o", []).strings == nil)
        #expect(Value.properties(["a": .bool(true)]).properties == ["a": .bool(true)])
        #expect(Value.stringTable(["a": "b"]).stringTable == ["a": "b"])
        #expect(Value.rows([["a": .byte(1)]]).rows == [["a": .byte(1)]])
    }
}

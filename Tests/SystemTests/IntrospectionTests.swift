// The daemon serves exactly the members that dbus/*.xml declares.

import DBus
import Foundation
import FoundationXML
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

/// The members and arguments of introspection data, one line each, such as `org.permd.Access1 method GetStatus`.
private final class Members: NSObject, XMLParserDelegate {
    private(set) var lines: Set<String> = []
    private var interface = ""
    private var member = ""

    init(xml: String) throws {
        super.init()
        let parser = XMLParser(data: Data(xml.utf8))
        parser.delegate = self
        guard parser.parse() else { throw TestKitError("invalid XML: \(xml.prefix(200))") }
    }

    func parser(
        _ parser: XMLParser, didStartElement element: String, namespaceURI: String?, qualifiedName: String?,
        attributes: [String: String]
    ) {
        let name = attributes["name"] ?? ""
        switch element {
        case "interface": interface = name
        case "method", "signal":
            member = "\(element) \(name)"
            lines.insert("\(interface) \(member)")
        case "property":
            member = "property \(name)"
            lines.insert("\(interface) \(member) \(attributes["type"] ?? "") \(attributes["access"] ?? "")")
        case "annotation": lines.insert("\(interface) \(member) \(name)=\(attributes["value"] ?? "")")
        case "arg":
            // The arguments of signals are outputs.
            let direction = attributes["direction"] ?? (member.hasPrefix("signal") ? "out" : "in")
            let place = lines.filter { $0.hasPrefix("\(interface) \(member) arg \(direction)") }.count
            lines.insert("\(interface) \(member) arg \(direction) \(place) \(attributes["type"] ?? "") \(name)")
        default: break
        }
    }
}

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct IntrospectionTests {
    private static let project = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    private func stated(_ interfaces: [String]) throws -> Set<String> {
        var lines: Set<String> = []
        for interface in interfaces {
            let file = IntrospectionTests.project.appending(path: "dbus/\(interface).xml")
            lines.formUnion(try Members(xml: String(contentsOf: file, encoding: .utf8)).lines)
        }
        return lines
    }

    private func compare(_ served: String, _ interfaces: [String]) throws {
        let served = try Members(xml: served).lines.filter { !$0.hasPrefix("org.freedesktop.") }
        let stated = try stated(interfaces)
        #expect(served.subtracting(stated).sorted() == [], "served, but not in dbus/*.xml")
        #expect(stated.subtracting(served).sorted() == [], "in dbus/*.xml, but not served")
        #expect(!stated.isEmpty)
    }

    private func introspect(_ stage: Stage, _ path: String) async throws -> String {
        try await stage.call("org.freedesktop.DBus.Introspectable", "Introspect", path: path).first?.stringValue ?? ""
    }

    @Test func theRootObject() async throws {
        let stage = try await Stage()
        try compare(
            try await introspect(stage, BusNames.root),
            [
                BusNames.access, BusNames.agentManager, BusNames.policy, BusNames.devices, BusNames.enforcement,
                BusNames.usage,
            ])
        await stage.end()
    }

    @Test func theCallersOwnRequest() async throws {
        let stage = try await Stage()
        let path = try #require(
            try await stage.call(BusNames.access, "RequestAccess", [.strings(["camera"]), .properties([:])]).first?
                .objectPathValue)
        try compare(try await introspect(stage, path), [BusNames.request])
        let above = String(path[..<(path.lastIndex(of: "/") ?? path.endIndex)])
        #expect(try await introspect(stage, above).contains("<node name=\"\(path.split(separator: "/").last ?? "")\""))
        await stage.end()
    }

    @Test func anAgent() async throws {
        let stage = try await Stage()
        let agent = try await stage.agent()
        let body = try await stage.desk.call(
            .call(
                destination: agent.connection.uniqueName, path: ScriptedAgent.defaultPath,
                interface: "org.freedesktop.DBus.Introspectable", member: "Introspect")
        ).body
        try compare(body.first?.stringValue ?? "", [BusNames.agent])
        await stage.end()
    }

    /// On the system bus.
    @Test func whatTheGuardAsks() async throws {
        let bench = try await GuardBench()
        let permd = try #require(bench.deviceGuard.registered.all.last)
        let body = try await bench.deviceGuard.stranger().call(
            .call(
                destination: permd, path: BusNames.guardClientObject,
                interface: "org.freedesktop.DBus.Introspectable", member: "Introspect")
        ).body
        try compare(body.first?.stringValue ?? "", [BusNames.guardClientInterface])
        await bench.end()
    }

    /// Every interface has its file, and every file its interface. permd-guard serves its own.
    @Test func everyFileIsCompared() throws {
        let files = try FileManager.default.contentsOfDirectory(
            atPath: IntrospectionTests.project.appending(path: "dbus").path)
        let names = files.filter { $0.hasSuffix(".xml") }.map { String($0.dropLast(4)) }
        #expect(
            Set(names)
                == [
                    BusNames.access, BusNames.request, BusNames.agentManager, BusNames.agent, BusNames.policy,
                    BusNames.devices, BusNames.enforcement, BusNames.usage, BusNames.guardInterface,
                    BusNames.guardClientInterface,
                ])
    }
}

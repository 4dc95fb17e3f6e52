// An import sets all decisions or none, also when the daemon refuses one that passed the check of the file.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

/// Stands for the daemon: stores decisions, and refuses those for one app.
@LoopActor
private final class FakeRules {
    private let service: FakeService
    private(set) var decisions: [String: [String: Value]] = [:]
    /// The number of changes it still accepts; after that it refuses all.
    private var changes = Int.max

    init(_ bus: PrivateBus, changes: Int = .max) throws {
        self.changes = changes
        service = try FakeService(on: bus)
        service.add(
            BusNames.policy, at: BusNames.root,
            [
                Method(name: "ListDecisions", inputs: ["filter": "a{sv}"], outputs: ["decisions": "aa{sv}"]) {
                    [unowned self] call in
                    let offset = call.arguments[0].properties?["offset"]?.uint32Value ?? 0
                    call.reply(
                        .rows(decisions.sorted { $0.key < $1.key }.map(\.value).dropFirst(Int(offset)).map { $0 }))
                },
                Method(
                    name: "SetDecision",
                    inputs: ["app": "s", "permission": "s", "decision": "s", "options": "a{sv}"], outputs: [:]
                ) { [unowned self] call in set(call) },
                Method(name: "Reset", inputs: ["app": "s", "permission": "s"], outputs: ["removed": "u"]) {
                    [unowned self] call in
                    guard mayChange(call) else { return }
                    decisions[key(call)] = nil
                    call.reply(.uint32(1))
                },
            ])
        try service.own(BusNames.service)
    }

    private func key(_ call: MethodCall) -> String {
        (call.arguments[0].stringValue ?? "") + " " + (call.arguments[1].stringValue ?? "")
    }

    private func mayChange(_ call: MethodCall) -> Bool {
        guard changes > 0 else {
            call.fail(name: ErrorKind.storeUnavailable.name, body: [.string("the disk is full"), .bool(true)])
            return false
        }
        changes -= 1
        return true
    }

    private func set(_ call: MethodCall) {
        guard call.arguments[0].stringValue != "exe:/refused" else {
            return call.fail(name: ErrorKind.invalidArguments.name, body: [.string("not for this app"), .bool(false)])
        }
        guard mayChange(call) else { return }
        var row = call.arguments[3].properties ?? [:]
        row["app"] = call.arguments[0]
        row["permission"] = call.arguments[1]
        row["decision"] = call.arguments[2]
        decisions[key(call)] = row
        call.reply()
    }

    func end() async { await service.end() }
}

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ImportTests {
    private static func file(_ apps: [String], permission: String = "camera") -> String {
        let rows = apps.map {
            #"{"app":"\#($0)","permission":"\#(permission)","decision":"grant","duration":"always"}"#
        }
        return #"{"version":1,"decisions":[\#(rows.joined(separator: ","))]}"#
    }

    private func run(_ bus: PrivateBus, _ text: String) async throws -> (exit: ChildProcess.Exit, errors: String) {
        let folder = try TemporaryFolder()
        let child = try ChildProcess(
            BuiltProgram.path("permctl"), ["import", try folder.write(text, to: "f.json")],
            environment: bus.environment, standardError: .pipe)
        var errors = ""
        for await line in child.errorLines { errors += line + "\n" }
        return (await child.waitForExit(), errors)
    }

    @Test(arguments: PrivateBus.Kind.allCases)
    func aRefusalLeavesEverythingAsItWas(_ kind: PrivateBus.Kind) async throws {
        let bus = try await PrivateBus(kind)
        let policy = try FakeRules(bus)
        let first = try await run(bus, ImportTests.file(["exe:/old"]).replacing("grant", with: "deny"))
        #expect(first.exit == .exited(0))
        let before = policy.decisions
        #expect(before.count == 1)
        let result = try await run(bus, ImportTests.file(["exe:/new", "exe:/old", "exe:/refused", "exe:/after"]))
        #expect(result.exit == .exited(65))
        #expect(result.errors.contains("decision 3, camera for exe:/refused: not for this app; nothing was imported"))
        #expect(policy.decisions == before)
        await policy.end()
        await bus.end()
    }

    /// If the import cannot be undone either, the error lists exactly what was set.
    @Test func decisionsThatCannotBeTakenBackAreListed() async throws {
        let bus = try await PrivateBus()
        let policy = try FakeRules(bus, changes: 2)
        let result = try await run(bus, ImportTests.file(["exe:/a", "exe:/b", "exe:/c"]))
        #expect(result.exit == .exited(75))
        #expect(result.errors.contains("decision 3, camera for exe:/c: the disk is full"), "\(result.errors)")
        #expect(result.errors.hasSuffix("taken back:\n  camera for exe:/a\n  camera for exe:/b\n"))
        #expect(policy.decisions.count == 2)
        await policy.end()
        await bus.end()
    }

    /// Standard input may be a pipe, whose end cannot be sought.
    @Test func aPipeIsImported() async throws {
        let stage = try await CommandStage()
        _ = try await stage.run("grant", "exe:/a", "camera")
        _ = try await stage.run("deny", "exe:/b", "location", "--until", "2100-01-01")
        let before = try await stage.run("export").output
        _ = try await stage.run("reset", "exe:/a")
        let child = try ChildProcess(
            "sh", ["-c", "\"$0\" export | \"$0\" import -", BuiltProgram.path("permctl")],
            environment: stage.permd.environment)
        #expect(await child.output() == "1 decision was imported\n")
        #expect(await child.waitForExit() == .exited(0))
        let good = try #require(before.firstRange(of: "\"version\" : 1").map { _ in before })
        let wrong = try ChildProcess(
            "sh",
            [
                "-c", "printf '%s' \"$1\" | \"$0\" import -", BuiltProgram.path("permctl"),
                good.replacing("\"camera\"", with: "7").replacing("\"location\"", with: "7"),
            ],
            environment: stage.permd.environment, standardError: .pipe)
        var errors = ""
        for await line in wrong.errorLines { errors += line }
        #expect(await wrong.waitForExit() == .exited(65))
        #expect(
            errors == "permctl: the standard input: decision 1: “permission” is of the wrong type; nothing was imported"
        )
        await stage.end()
    }

    /// Each error says which decision is wrong, and why.
    @Test(arguments: [
        (#"{"version":1,"decisions":[{"app":7}]}"#, "decision 1: “app” is of the wrong type"),
        (#"{"version":1,"decisions":[{"app":"exe:/a"}]}"#, "decision 1: “permission” is missing"),
        (#"{"version":1,"decisions":[7]}"#, "decision 1: its content is of the wrong type"),
        (#"{"version":1}"#, "“decisions” is missing"),
        (#"{"version":1,"decisions":7}"#, "“decisions” is of the wrong type"),
        ("[]", "its content is of the wrong type"), ("", "the content is not JSON"),
    ])
    func errorsNameTheDecision(_ text: String, _ expected: String) async throws {
        let bus = try await PrivateBus()
        let result = try await run(bus, text)
        #expect(result.exit == .exited(65) && result.errors.contains("f.json: \(expected)"), "\(result.errors)")
        #expect(result.errors.hasSuffix("; nothing was imported\n"))
        await bus.end()
    }

    @Test func unreadableFilesAreReported() async throws {
        let bus = try await PrivateBus()
        for (file, why) in [("/nonexistent", "No such file or directory"), ("/", "Is a directory")] {
            let child = try ChildProcess(
                BuiltProgram.path("permctl"), ["import", file], environment: bus.environment, standardError: .pipe)
            var errors = ""
            for await line in child.errorLines { errors += line }
            #expect(await child.waitForExit() == .exited(65))
            #expect(errors == "permctl: \(file) cannot be read: \(why); nothing was imported")
        }
        await bus.end()
    }

    /// Permissions that only portals ask about cannot be imported; this is found before anything is set.
    @Test func permissionsAreCheckedFirst() async throws {
        let bus = try await PrivateBus()
        let policy = try FakeRules(bus)
        for wrong in ["background", "screenshot", "wallpaper", "other", "everything"] {
            let result = try await run(bus, ImportTests.file(["exe:/a"], permission: wrong))
            #expect(result.exit == .exited(65) && result.errors.contains("nothing was imported"), "\(wrong)")
        }
        #expect(policy.decisions.isEmpty)
        await policy.end()
        await bus.end()
    }
}

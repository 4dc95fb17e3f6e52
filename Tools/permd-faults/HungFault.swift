// Callers, desktop entries, rules and permd's own files on file systems that never answer: everybody else is served as
// before, such callers are nobody, and permd works when the file systems are gone.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport

@LoopActor
final class HungFault {
    /// What is on a file system that never answers.
    private enum Target: String, CaseIterable { case scripts, sandbox, entry, rule, folder, home, runtime }

    private let rounds: Int
    private let report = Report("hung")
    /// The callers, and the mount namespaces that they are in, each with a file system of its own.
    private static let callers = (count: 1000, groups: 8)
    /// The most threads beside the loop: those for callers, and one each for the store and for the bus's sockets.
    private static let threads = 4 + 2
    /// Milliseconds after which permd gives up whom it cannot look at, and those that this may take longer.
    private static let deadline = (permd: 5000, slack: 5000)
    private static let rule = "[Rule kept]\nApps=exe:/usr/bin/kept\nPermissions=camera\nAction=restrict\n"

    init(rounds: Int) { self.rounds = rounds }

    func run() async -> Report {
        for _ in 0..<rounds {
            for target in Target.allCases {
                do { try await play(target) } catch { report.lose("\(target.rawValue): \(error)") }
            }
            report.count("rounds")
        }
        for what in ["callers refused", "prompts with a plain name", "restrictions kept", "changes refused"] {
            report.expect(what)
        }
        return report
    }

    private func play(_ target: Target) async throws {
        let system = try await PrivateBus()
        let geoclue = try system.connect()
        geoclue.methodHandler = { geoclue.reply(to: $0) }
        guard try geoclue.requestName("org.freedesktop.GeoClue2") else { throw TestKitError("no name for GeoClue") }
        let place = try await Bench(
            nil, rules: ["10-kept.conf": HungFault.rule], environment: ["DBUS_SYSTEM_BUS_ADDRESS": system.address])
        switch target {
        case .scripts: try await hangScripts(place)
        case .sandbox: try await hangSandbox(place)
        case .entry: try await hangEntry(place)
        case .rule, .folder: try await hangRules(place, target)
        case .home: try await hangStore(place, target, over: place.lastingFolder, "always")
        case .runtime: try await hangStore(place, target, over: place.sessionFolder, "session")
        }
        if !place.permd.isRunning { report.lose("\(target.rawValue): permd exited") }
        await place.end()
        geoclue.close()
        await system.end()
    }

    /// Others are answered while `body` runs.
    private func measure(
        _ target: Target, _ place: Bench, _ body: @escaping @LoopActor () async throws -> Void
    ) async throws {
        try await Latencies(of: place, while: body).judge(target.rawValue, report)
    }

    // MARK: Callers

    /// Callers whose scripts hang are nobody, whatever their number and however many file systems they have.
    private func hangScripts(_ place: Bench) async throws {
        let folder = try TemporaryFolder()
        let program = folder.file("node")
        try await BuiltProgram.copy("permd-faults", to: program)
        let script = try folder.write("", to: "script")
        let before = place.count("task")
        let count = HungFault.callers.count / HungFault.callers.groups
        try await measure(.scripts, place) { [self] in
            let groups = try (0..<HungFault.callers.groups).map { _ in
                try callers(program, [script, "hung-caller", place.permd.bus.address, "\(count)"], place)
            }
            for group in groups {
                var lines = group.lines.makeAsyncIterator()
                try judgeCallers(await lines.next() ?? "", count)
                report.most("threads beside the loop", place.count("task") - before)
            }
            for group in groups {
                group.closeInput()
                _ = await group.waitForExit()
            }
        }
        if report.counted("threads beside the loop") > HungFault.threads {
            report.lose("callers cost \(report.counted("threads beside the loop")) threads")
        }
        let honest = try callers(program, [script, "caller", place.permd.bus.address, "1"], place)
        var lines = honest.lines.makeAsyncIterator()
        let answer = await lines.next() ?? ""
        if !answer.hasPrefix("refused 0 answered 1 ") {
            report.lose("a caller with the same script afterwards: \(answer)")
        }
    }

    private func callers(_ program: String, _ words: [String], _ place: Bench) throws -> ChildProcess {
        let command = Superuser.mountNamespace("mount --make-rprivate /") + [program] + words
        return try ChildProcess(
            command[0], Array(command.dropFirst()), environment: place.permd.environment, standardInput: .pipe)
    }

    /// - Parameter line: `refused COUNT answered COUNT slowest MILLISECONDS`
    private func judgeCallers(_ line: String, _ count: Int) throws {
        let words = line.split(separator: " ").compactMap { Int($0) }
        guard words.count == 3 else { throw TestKitError("the callers said: \(line)") }
        report.count("callers refused", words[0])
        if words[0] != count { report.lose("\(count - words[0]) of \(count) callers were not refused") }
        let longest = HungFault.deadline.permd + HungFault.deadline.slack
        if words[2] > longest { report.lose("a caller waited \(words[2]) ms") }
    }

    /// A sandboxed app whose `/.flatpak-info` hangs is nobody, not a program outside any sandbox.
    private func hangSandbox(_ place: Bench) async throws {
        let app = try await TestApp.flatpak("org.example.Hung", on: place.permd)
        let hung = try await HungFileSystem(over: "/.flatpak-info", in: app.pid())
        try await measure(.sandbox, place) { [self] in
            let answer = try await app.ask("status camera")
            if answer.contains("AccessDenied") {
                report.count("callers refused")
            } else {
                report.lose("a sandboxed caller without an identity got: \(answer)")
            }
        }
        try await hung.end()
        await app.end()
    }

    // MARK: Names and rules

    /// A prompt waits a moment for a name, then has the plain one.
    private func hangEntry(_ place: Bench) async throws {
        let applications = "\(place.permd.bus.directory)/data/flatpak/exports/share/applications"
        let maker = try ChildProcess("mkdir", ["-p", applications])
        _ = await maker.waitForExit()
        let agent = ScriptedAgent(try place.permd.bus.connect(), otherwise: .deny(.once))
        try await agent.register()
        let app = try await TestApp.flatpak("org.example.Asking", on: place.permd)
        let hung = try await HungFileSystem(over: applications)
        try await measure(.entry, place) { [self] in
            try await app.request("t", [.location])
            let prompt = try await agent.prompts.wait(for: 1)[0]
            if prompt.details["app_name"] == .string("org.example.Asking") {
                report.count("prompts with a plain name")
            } else {
                report.lose("a prompt was called \(prompt.details["app_name"] ?? .string("nothing"))")
            }
            _ = try await app.response("t")
        }
        try await hung.end()
        await app.end()
        agent.connection.close()
    }

    /// What a file has restricted stays restricted while it, or its folder, hangs, and while permd starts again.
    private func hangRules(_ place: Bench, _ target: Target) async throws {
        let folder = place.permd.root.file("etc/permd/policy.d")
        let hung = try await HungFileSystem(over: target == .folder ? folder : folder + "/10-kept.conf")
        try await measure(target, place) { [self] in
            place.permd.signal(SIGHUP)
            while try await !problems(place).contains(where: { $0.contains("does not answer") }) {
                await Bench.pause(milliseconds: 50)
            }
            try await expectRestriction(place, "\(target.rawValue) that hangs")
        }
        try await place.permd.restart(SIGKILL)
        try await expectRestriction(place, "\(target.rawValue) that hangs at the start")
        try await hung.end()
        place.permd.signal(SIGHUP)
        while try await problems(place).contains(where: { $0.contains("does not answer") }) {
            await Bench.pause(milliseconds: 50)
        }
        try await expectRestriction(place, "\(target.rawValue) that answers again")
    }

    // MARK: The store

    /// No change is acknowledged while it hangs, also by a permd that starts then. What was decided before is in force
    /// once it answers.
    private func hangStore(_ place: Bench, _ target: Target, over folder: String, _ duration: String) async throws {
        let (key, other) = (
            Ledger.Key(app: "exe:/a", permission: "camera"), Ledger.Key(app: "exe:/b", permission: "camera")
        )
        if let error = await place.decide(key, "grant \(duration)") {
            throw TestKitError("SetDecision failed: \(error)")
        }
        let hung = try await HungFileSystem(over: folder)
        func expectRefusal() async {
            let error = await place.decide(other, "grant \(duration)")
            guard error != ErrorKind.storeUnavailable.name else { return report.count("changes refused") }
            report.lose("\(target.rawValue): a change while it hangs: \(error ?? "acknowledged")")
        }
        try await measure(target, place) { await expectRefusal() }
        try await place.permd.restart(SIGKILL)
        await expectRefusal()
        try await hung.end()
        while await place.decide(other, "deny \(duration)") != nil { await Bench.pause(milliseconds: 50) }
        let apps = try await place.rows("ListDecisions").compactMap { $0["app"]?.stringValue }
        // The permd that could not read the session's file began another session.
        if apps != (target == .home ? ["exe:/a", "exe:/b"] : ["exe:/b"]) {
            report.lose("\(target.rawValue) that answers again: decisions about \(apps)")
        }
    }

    private func problems(_ place: Bench) async throws -> [String] {
        try await place.rows("ListProblems").compactMap { $0["problem"]?.stringValue }
    }

    private func expectRestriction(_ place: Bench, _ when: String) async throws {
        let rows = try await place.call(
            BusNames.policy, "ListStatuses", [.properties(["app": .string("exe:/usr/bin/kept")])])
        let camera = rows.first?.rows?.first { $0["permission"] == .string("camera") }
        if camera?["status"] == .string("restricted") {
            report.count("restrictions kept")
        } else {
            report.lose("\(when): the restriction is not in force")
        }
    }
}

/// The program of the callers: this one, under the name of an interpreter and with a script as its first argument, which
/// is how permd identifies it.
@LoopActor
enum HungCaller {
    /// - Parameter arguments: The script; `hung-caller` if it hangs, or `caller`; the address of the bus, and the number
    ///   of callers.
    static func main(_ arguments: [String]) async -> Int32 {
        do {
            let hung = arguments[1] == "hung-caller" ? try await HungFileSystem(over: arguments[0]) : nil
            let start = Loop.uptimeMilliseconds()
            let answers = EventLog<String?>()
            let connections = try (0..<(Int(arguments[3]) ?? 0)).map { _ in
                try Connection.open(.address(arguments[2]))
            }
            for connection in connections {
                connection.call(Bench.message(BusNames.access, "GetStatus", [.strings(["camera"])])) { answer in
                    if case .failure(let error) = answer { answers.add(error.name) } else { answers.add(nil) }
                }
            }
            let errors = try await answers.wait(for: connections.count).compactMap { $0 }
            let refused = errors.count { $0 == ErrorKind.accessDenied.name }
            let answered = connections.count - errors.count
            Report.say("refused \(refused) answered \(answered) slowest \(Loop.uptimeMilliseconds() - start)")
            await waitForInput()
            try await hung?.end()
            return 0
        } catch {
            Report.say("\(error)")
            return 1
        }
    }

    /// Waits until there is input, or its end.
    private static func waitForInput() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            var token: WatchToken?
            token = Loop.shared.watch(unowned: STDIN_FILENO, .readable) { _ in
                token?.cancel()
                token = nil
                continuation.resume()
            }
        }
    }
}

// The environment of a fault: permd on a private bus with mock devices, and a connection for checks.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit

@LoopActor
final class Bench {
    let permd: PermdProcess
    /// A connection outside any sandbox, like that of a settings program.
    let desk: Connection

    /// Settings with which prompts are not throttled despite many requests.
    private static let settings = "[Prompts]\nAgentWaitSec=1\nNagLimit=1000\n"

    init(
        bus: PrivateBus? = nil, _ devices: MockDevices?, settings: String = Bench.settings,
        rules: [String: String] = [:], environment: [String: String] = [:], through wrapper: [String] = []
    ) async throws {
        permd = try await PermdProcess(
            bus: bus, settings: settings, rules: rules, devices: devices, environment: environment, through: wrapper)
        desk = try permd.bus.connect()
    }

    /// The app ID that permd gives this program.
    static let own = AppID.executable(BuiltProgram.own.utf8).description

    /// The folders of the store and of the session token.
    var lastingFolder: String { "\(permd.bus.directory)/state/permd" }
    var sessionFolder: String { "\(permd.bus.directory)/runtime/permd" }

    static func message(
        _ interface: String, _ member: String, _ body: [Value] = [], path: String = BusNames.root
    ) -> Message {
        .call(
            destination: BusNames.service, path: path, interface: interface, member: member, body, noAutoStart: true)
    }

    func call(_ interface: String, _ member: String, _ body: [Value] = []) async throws(BusError) -> [Value] {
        try await desk.call(Bench.message(interface, member, body)).body
    }

    /// The rows of a list of org.permd.Policy1, of all its pages.
    func rows(_ member: String) async throws(BusError) -> [[String: Value]] {
        if ["ListProblems", "ListRequests"].contains(member) {
            return try await call(BusNames.policy, member).first?.rows ?? []
        }
        var rows: [[String: Value]] = []
        for offset: UInt32 in stride(from: 0, to: .max, by: 1024) {
            let filter = Value.properties(["offset": .uint32(offset)])
            let page = try await call(BusNames.policy, member, [filter]).first?.rows ?? []
            if page.isEmpty { break }
            rows += page
        }
        return rows
    }

    /// The problems that permd reports about the store.
    func storeProblems() async throws(BusError) -> [String] {
        try await rows("ListProblems").filter { $0["about"] == .string("store") }
            .compactMap { $0["problem"]?.stringValue }
    }

    /// Makes a decision for an app. Returns nil if it was acknowledged, otherwise the error name.
    func decide(_ key: Ledger.Key, _ state: Ledger.State, on connection: Connection? = nil) async -> String? {
        let message: Message
        if state.isEmpty {
            message = Bench.message(BusNames.policy, "Reset", [.string(key.app), .string(key.permission)])
        } else {
            let words = state.split(separator: " ").map(String.init)
            var options: [String: Value] = ["duration": .string(words[1])]
            if words.count > 2 { options["until"] = .uint64(UInt64(words[2]) ?? 0) }
            message = Bench.message(
                BusNames.policy, "SetDecision",
                [.string(key.app), .string(key.permission), .string(words[0]), .properties(options)])
        }
        do throws(BusError) {
            _ = try await (connection ?? desk).call(message)
            return nil
        } catch {
            return error.name
        }
    }

    func descriptors() -> Int { count("fd") }

    /// The number of entries of permd's folder in /proc.
    func count(_ folder: String) -> Int {
        guard let folder = opendir("/proc/\(permd.pid)/\(folder)") else { return 0 }
        defer { closedir(folder) }
        // Without `.` and `..`.
        var count = -2
        while readdir(folder) != nil { count += 1 }
        return count
    }

    func end() async {
        desk.close()
        await permd.end()
    }

    static func pause(milliseconds: Int) async {
        await withCheckedContinuation { continuation in
            Loop.shared.after(milliseconds: Int64(max(1, milliseconds))) { continuation.resume() }
        }
    }

    /// The errors with which calls fail when the name has no owner any more.
    static let deaths: Set<String> = [
        BusError.Name.noReply, BusError.Name.disconnected, BusError.Name.serviceUnknown,
        BusError.Name.nameHasNoOwner,
    ]
}

// A process that attacks until it is stopped, in a sandbox or outside any.

import DBus
import PermissionTestKit
import TestSupport

@LoopActor
final class AttackerProcess {
    static let app = "flatpak:org.example.Hostile"

    private let process: ChildProcess
    private let sandbox: FlatpakSandbox?
    private let name: String

    /// - Parameter access: How its sandbox connects to the bus; nil for no sandbox.
    init(_ place: Bench, in access: FlatpakSandbox.Access?, _ attacks: [Attack], seed: UInt64) async throws {
        sandbox =
            if let access {
                try await FlatpakSandbox("org.example.Hostile", on: place.permd.bus, access: access)
            } else { nil }
        name = access?.rawValue ?? "plain"
        let words =
            (sandbox?.command ?? []) + [
                BuiltProgram.own, "attacker", "\(seed)", attacks.map(\.rawValue).joined(separator: ","),
            ]
        process = try ChildProcess(
            words[0], Array(words.dropFirst()),
            environment: place.permd.environment.merging(sandbox?.environment ?? [:]) { $1 }, standardInput: .pipe)
    }

    /// Stops the process and reports what it did.
    func stop(_ report: Report) async {
        process.closeInput()
        var isTold = false
        for await line in process.lines {
            let words = line.split(separator: " ").map(String.init)
            guard words.count == 3, words[0] == "did" else { continue }
            report.count(words[2], Int(words[1]) ?? 0)
            isTold = true
        }
        let exit = await process.waitForExit()
        if exit != .exited(0) || !isTold { report.lose("the \(name) attacker failed: \(exit)") }
    }
}

// The store on full, read-only and damaged disks: nothing is lost or invented, and every problem is reported.

import DBus
import Foundation
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct StoreTests {
    @Test func onlyTheUserCanReadIt() async throws {
        let stage = try await Stage()
        try await stage.set("grant", AppID("exe:/a")!, .camera)
        var status = stat()
        #expect(stat(stage.stateFolder, &status) == 0 && status.st_mode & 0o777 == 0o700)
        let files = try FileManager.default.contentsOfDirectory(atPath: stage.stateFolder)
        #expect(files.contains("permd.db"))
        for file in files {
            #expect(stat("\(stage.stateFolder)/\(file)", &status) == 0 && status.st_mode & 0o777 == 0o600, "\(file)")
        }
        await stage.end()
    }

    /// An answer that cannot be stored holds `once`, and the app receives that status. Nothing else is acknowledged.
    @Test func unwritableStores() async throws {
        let stage = try await Stage()
        await stage.permd.stop()
        // A file in place of the folder, so that not even root can write to the store.
        try FileManager.default.removeItem(atPath: stage.stateFolder)
        try Data().write(to: URL(filePath: stage.stateFolder))
        try await stage.permd.start()
        let app = try await stage.app()
        let agent = try await stage.agent([.grant(.always)])
        #expect(
            await stage.refusal(
                BusNames.policy, "SetDecision",
                [.string("exe:/a"), .string("camera"), .string("grant"), .properties([:])])
                == "StoreUnavailable retryable")
        #expect(
            await stage.refusal(BusNames.policy, "Reset", [.string(""), .string("")]) == "StoreUnavailable retryable")
        for list in ["ListDecisions", "ListHistory", "ListStatuses"] {
            #expect(await stage.refusal(BusNames.policy, list, [.properties([:])]) == "StoreUnavailable retryable")
        }
        try await app.request("t", [.camera])
        #expect(try await app.response("t") == "0 refused= statuses=camera=granted")
        let other = try await app.secondProcess(on: stage.permd)
        #expect(try await other.status(.camera) == "ok camera=undetermined")
        let problems = try await stage.rows("ListProblems", nil).filter { $0["about"] == .string("store") }
        #expect(!problems.isEmpty && problems.allSatisfy { $0["advice"]?.stringValue?.isEmpty == false })
        #expect(stage.permd.log.all.contains { $0.contains("hold for the asking process only") })
        #expect(agent.prompts.all.count == 1)
        // The history has the answer once it can be written.
        try FileManager.default.removeItem(atPath: stage.stateFolder)
        try await stage.set("deny", AppID("exe:/a")!, .camera)
        #expect(try await stage.history(app.id) == ["camera granted person"])
        await stage.end()
    }

    @Test func damagedFilesAreSetAside() async throws {
        let stage = try await Stage()
        let app = AppID("exe:/usr/bin/a")!
        try await stage.set("grant", app, .camera)
        await stage.permd.stop()
        let noise = Data((0..<8192).map { UInt8(truncatingIfNeeded: $0 &* 31) })
        try noise.write(to: URL(filePath: "\(stage.stateFolder)/permd.db"))
        try await stage.permd.start()
        // Lost decisions are undetermined, never granted, and new ones can be stored.
        #expect(try await stage.decisions().isEmpty)
        try await stage.set("deny", app, .camera)
        #expect(try await stage.decisions() == ["\(app) camera deny always"])
        let files = try FileManager.default.contentsOfDirectory(atPath: stage.stateFolder)
        let aside = try #require(
            files.first { $0.contains("damaged") && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }, "\(files)")
        #expect(try Data(contentsOf: URL(filePath: "\(stage.stateFolder)/\(aside)")) == noise)
        #expect(try await stage.rows("ListProblems", nil).contains { $0["about"] == .string("store") })
        #expect(stage.permd.log.all.contains { $0.contains(aside) })
        await stage.end()
    }

    @Test func emptyFilesCountAsNew() async throws {
        let stage = try await Stage()
        await stage.permd.stop()
        try Data().write(to: URL(filePath: "\(stage.stateFolder)/permd.db"))
        try await stage.permd.start()
        try await stage.set("grant", AppID("exe:/a")!, .camera)
        try await stage.permd.restart()
        #expect(try await stage.decisions().count == 1)
        await stage.end()
    }

    /// While the disk is full, writes that fail are reported; once there is space, they succeed again.
    @Test func fullDisks() async throws {
        let stage = try await Stage()
        let first = AppID("exe:/usr/bin/first")!
        try await stage.set("grant", first, .camera)
        func limit(_ bytes: String) async throws {
            let program = try ChildProcess("prlimit", ["--pid", "\(stage.permd.pid)", "--fsize=\(bytes):unlimited"])
            #expect(await program.waitForExit() == .exited(0))
        }
        // No file may grow beyond this: writes fail as they do on a full disk.
        try await limit("4096")
        var refused = 0
        for number in 0..<40 {
            let refusal = await stage.refusal(
                BusNames.policy, "SetDecision",
                [.string("exe:/usr/bin/app\(number)"), .string("camera"), .string("grant"), .properties([:])])
            if let refusal {
                #expect(refusal == "StoreUnavailable retryable")
                refused += 1
            }
        }
        #expect(refused > 0)
        #expect(try await stage.decisions().count == 41 - refused)
        #expect(try await stage.rows("ListProblems", nil).contains { $0["about"] == .string("store") })
        try await limit("unlimited")
        let last = AppID("exe:/usr/bin/last")!
        try await stage.set("deny", last, .camera)
        #expect(try await stage.rows("ListProblems", nil).allSatisfy { $0["about"] != .string("store") })
        try await stage.permd.restart(SIGKILL)
        let decisions = try await stage.decisions()
        #expect(decisions.contains("\(first) camera grant always") && decisions.contains("\(last) camera deny always"))
        #expect(decisions.count == 42 - refused)
        await stage.end()
    }

    /// Who lists problems learns that files have disappeared.
    @Test func filesTakenAwayAreAProblem() async throws {
        let stage = try await Stage()
        try await stage.set("deny", AppID("exe:/usr/bin/a")!, .camera)
        try #require(system("rm -r \(stage.stateFolder)") == 0)
        #expect(
            try await stage.rows("ListProblems", nil).contains {
                $0["problem"]?.stringValue?.contains("while permd ran") == true
            })
        #expect(try await stage.decisions().isEmpty)
        await stage.end()
    }

    @Test func historyIsBounded() async throws {
        let stage = try await Stage(settings: "[History]\nMaxRows=20\n")
        for number in 0..<60 {
            try await stage.set(number % 2 == 0 ? "grant" : "deny", AppID("exe:/usr/bin/a")!, .camera)
        }
        try await stage.permd.restart()
        let rows = try await stage.rows("ListHistory")
        #expect(rows.count <= 20 && !rows.isEmpty)
        #expect(rows.first?["outcome"] == .string("denied"))
        await stage.end()
    }
}

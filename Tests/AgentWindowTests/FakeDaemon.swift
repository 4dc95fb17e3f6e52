// Prompts on a stage's bus that the real daemon never would send.

import DBus
import PermissionTestKit
import TestSupport

extension FakeDaemon {
    /// Takes the place of the stage's own daemon.
    convenience init(_ stage: AgentStage) async throws {
        await stage.permd.stop()
        try self.init(stage.permd.bus)
    }

    /// Sends a prompt; returns the outcome that the agent replies with.
    func prompt(_ number: Int, _ details: [String: Value]) async throws -> String {
        var details = details
        if details["items"] == nil { details["items"] = .rows([["permission": .string("camera")]]) }
        details["durations"] = .strings(["once", "session", "always"])
        return await prompt(FakeDaemon.path(number), details)
    }

    func update(_ number: Int, _ details: [String: Value]) async throws {
        _ = try await call("Update", [.objectPath(FakeDaemon.path(number)), .properties(details)])
    }

    func withdraw(_ number: Int) async throws {
        _ = try await call("Withdraw", [.objectPath(FakeDaemon.path(number)), .string("")])
    }

    private static func path(_ number: Int) -> String { "/org/permd/prompt/\(number)" }
}

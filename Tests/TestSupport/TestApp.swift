// A test-controlled app: a process of its own, whose path makes it an app of its own.

package import DBus
import Glibc
package import PermissionModel
package import PermissionTestKit

/// Runs a copy of `permd-testapp`, so that each name is a different app.
@LoopActor
package final class TestApp {
    /// `exe:/path`
    package nonisolated let id: AppID
    /// The lines it printed: `response TOKEN …`, `state TOKEN …`, `status …`.
    package let events = EventLog<String>()
    private let process: ChildProcess
    private let folder: TemporaryFolder
    private let sandbox: FlatpakSandbox?
    private let reading: Task<Void, Never>
    private var lastCommand = 0

    /// - Parameters:
    ///   - other: A test app in whose folder the program is. With its name, both are the same app.
    ///   - sandbox: The sandbox to run it in.
    package init(
        _ name: String = "app", on daemon: PermdProcess, sharing other: TestApp? = nil,
        through sandbox: FlatpakSandbox? = nil
    ) async throws {
        self.sandbox = sandbox
        let folder = if let other { other.folder } else { try TemporaryFolder() }
        self.folder = folder
        let path = folder.file(name)
        if access(path, F_OK) != 0 { try await BuiltProgram.copy("permd-testapp", to: path) }
        id = sandbox?.app ?? AppID.executable(path.utf8)
        let words = (sandbox?.command ?? []) + [path]
        process = try ChildProcess(
            words[0], Array(words.dropFirst()),
            environment: daemon.environment.merging(sandbox?.environment ?? [:]) { $1 }, standardInput: .pipe)
        reading = Task { [events, lines = process.lines] in for await line in lines { events.add(line) } }
        try await events.first("the app's start") { $0 == "ready" }
    }

    package func secondProcess(on daemon: PermdProcess) async throws -> TestApp {
        let name = String(id.name.split(separator: "/").last ?? "")
        return try await TestApp(name, on: daemon, sharing: self)
    }

    /// Sends a command line and returns the answer: `ok …` without the `ok`, or the error as `NAME retryable: MESSAGE`.
    @discardableResult
    package func ask(_ command: String) async throws -> String {
        lastCommand += 1
        let number = lastCommand
        guard process.write("\(number) \(command)\n") else { throw TestKitError("the app \(id) has exited") }
        let answer = try await events.first("the answer to \(command)") { $0.hasPrefix("\(number) ") }
        return String(answer.dropFirst("\(number) ".count))
    }

    /// Requests access without waiting for the prompt.
    @discardableResult
    package func request(_ token: String, _ permissions: [Permission], _ options: String = "") async throws -> String {
        try await ask("request \(token) \(permissions.map(\.rawValue).joined(separator: ",")) \(options)")
    }

    /// Waits for the Response to a request, such as `0 camera=granted refused=`.
    package func response(_ token: String) async throws -> String {
        let prefix = "response \(token) "
        let line = try await events.first("the response to \(token)") { $0.hasPrefix(prefix) }
        return String(line.dropFirst(prefix.count))
    }

    package func status(_ permission: Permission) async throws -> String {
        try await ask("status \(permission.rawValue)")
    }

    /// The ID of its process, also in a sandbox.
    package func pid() async throws -> Int32 {
        let answer = try await ask("pid")
        guard let pid = answer.split(separator: " ").last.flatMap({ Int32($0) }) else {
            throw TestKitError("the test app has no process ID: \(answer)")
        }
        return pid
    }

    /// Ends the process, which has left the bus when this returns.
    package func end(_ signal: Int32 = SIGKILL) async {
        process.terminate(signal)
        _ = await process.waitForExit()
        // The wrapper may exit before the app itself.
        await reading.value
    }
}

// The real xdg-desktop-portal and its permission store, on a test's bus.

package import DBus
import Glibc
import PermissionModel
package import PermissionTestKit

@LoopActor
package final class DesktopPortal {
    private static let programs = ["/usr/libexec/xdg-permission-store", "/usr/libexec/xdg-desktop-portal"]

    private let processes: [ChildProcess]
    private let connection: Connection
    /// Their standard error, line by line.
    package let log = EventLog<String>()

    /// Starts both programs, which own their names when this returns.
    /// - Parameter backends: A folder of `.portal` files; the portal sees no others. Nil for the store alone.
    package init(
        on daemon: PermdProcess, backends: String?, environment: [String: String] = [:]
    ) async throws {
        var environment = daemon.environment.merging(environment) { $1 }
        environment["XDG_DESKTOP_PORTAL_DIR"] = backends
        connection = try daemon.bus.connect()
        let log = log
        var started: [ChildProcess] = []
        for (program, name) in zip(DesktopPortal.programs, [BusNames.portalStore, BusNames.portal])
        where backends != nil || name == BusNames.portalStore {
            guard access(program, X_OK) == 0 else {
                throw TestKitError("\(program) does not exist; install the package xdg-desktop-portal")
            }
            let owned = EventLog<String>()
            let token = connection.onOwnerChange(of: name) { owned.add($0 ?? "") }
            let process = try ChildProcess(
                program, ["--verbose"].filter { _ in name == BusNames.portal }, environment: environment,
                standardError: .pipe)
            Task { [lines = process.errorLines] in for await line in lines { log.add(line) } }
            try await owned.first("\(name)") { !$0.isEmpty }
            token.cancel()
            started.append(process)
        }
        processes = started
    }

    /// Writes an entry into the store, as a portal does, with the words of each app.
    package func remember(_ table: String, _ entry: String, _ apps: [String: [String]]) async throws {
        let apps = apps.sorted { $0.key < $1.key }.map { DictionaryEntry(.string($0.key), .strings($0.value)) }
        _ = try await connection.call(
            .call(
                destination: BusNames.portalStore, path: BusNames.portalStorePath, interface: BusNames.portalStore,
                member: "Set",
                [
                    .string(table), .bool(true), .string(entry), .dictionary(key: "s", value: "as", apps),
                    .variant(.byte(0)),
                ]))
    }

    /// Ends the portal only; its store keeps running.
    package func endPortal() async { await end(processes[1]) }

    package func end() async {
        for process in processes.reversed() { await end(process) }
        connection.close()
    }

    private func end(_ process: ChildProcess) async {
        process.terminate()
        _ = await process.waitForExit()
    }
}

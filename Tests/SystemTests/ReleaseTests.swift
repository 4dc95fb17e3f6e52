// The release build of permd, made by scripts/build: linked libraries, size and threads.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct ReleaseTests {
    private nonisolated static let permd = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "dist/bin/permd").path

    private nonisolated static var isBuilt: Bool { FileManager.default.fileExists(atPath: permd) }

    @Test(.enabled(if: isBuilt, "dist/bin/permd is missing; run scripts/build"))
    func linksNoFoundationAndNoICU() async throws {
        let child = try ChildProcess("ldd", [ReleaseTests.permd])
        let libraries = await child.output().split(separator: "\n")
            .compactMap { $0.split(whereSeparator: \.isWhitespace).first }
        #expect(libraries.contains("libswiftCore.so"))
        for name in ["Foundation", "icu"] {
            #expect(!libraries.contains { $0.lowercased().contains(name.lowercased()) })
        }
        let content = try Data(contentsOf: URL(filePath: ReleaseTests.permd))
        #expect(content.count < 3 << 20, "permd is \(content.count >> 20) MiB large")
    }

    @Test(.enabled(if: isBuilt, "dist/bin/permd is missing; run scripts/build"))
    func oneThreadWhenIdle() async throws {
        let bus = try await PrivateBus()
        var environment = bus.environment
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=/nonexistent"
        let permd = try ChildProcess(ReleaseTests.permd, environment: environment, standardError: .pipe)
        let log = EventLog<String>()
        Task { [lines = permd.errorLines] in for await line in lines { log.add(line) } }
        try await log.first("the start") { $0.contains("serves org.permd") }
        let desk = try bus.connect()
        _ = try await desk.call(
            .call(
                destination: BusNames.service, path: BusNames.root, interface: BusNames.policy, member: "SetDecision",
                [.string("exe:/a"), .string("camera"), .string("grant"), .properties([:])]))
        let threads = "/proc/\(permd.pid)/task"
        // The store's thread ends after it has answered.
        while try FileManager.default.contentsOfDirectory(atPath: threads).count > 1 {
            try await Task.sleep(for: .milliseconds(1))
        }
        desk.close()
        permd.terminate()
        #expect(await permd.waitForExit() == .exited(0))
        await bus.end()
    }
}

// When stderr is connected to the journal, log messages carry structured fields.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit
import Testing

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct JournalTests {
    /// Mounts the test's socket in place of the journal's, and declares stderr to be the journal's stream.
    private nonisolated static let enter = """
        mount -t tmpfs none /run
        mkdir -p /run/systemd/journal
        touch /run/systemd/journal/socket
        mount --bind "$1" /run/systemd/journal/socket
        export JOURNAL_STREAM=$(stat -L -c %d:%i /dev/stderr)
        """

    @Test func decisionsCarryTheirFields() async throws {
        let folder = try TemporaryFolder()
        let journal = try NoticeSocket(folder.file("journal"))
        let bus = try await PrivateBus()
        var environment = bus.environment
        environment["DBUS_SYSTEM_BUS_ADDRESS"] = "unix:path=/nonexistent"
        let words =
            Superuser.mountNamespace(JournalTests.enter, [folder.file("journal")]) + [BuiltProgram.path("permd")]
        let permd = try ChildProcess(
            words[0], Array(words.dropFirst()), environment: environment,
            standardError: .file(folder.file("stderr")))
        try await journal.log.first("the start") { $0.contains("MESSAGE=permd ") && $0.contains("serves org.permd") }
        let desk = try bus.connect()
        _ = try await desk.call(
            .call(
                destination: BusNames.service, path: BusNames.root, interface: BusNames.policy, member: "SetDecision",
                [.string("exe:/usr/bin/a"), .string("camera"), .string("grant"), .properties([:])]))
        let entry = try await journal.log.first("the decision") { $0.contains("PERMD_OUTCOME") }
        let fields = Set(entry.split(separator: "\n").map(String.init))
        for field in [
            "PRIORITY=6", "SYSLOG_IDENTIFIER=permd", "PERMD_APP=exe:/usr/bin/a", "PERMD_PERMISSION=camera",
            "PERMD_OUTCOME=granted",
        ] { #expect(fields.contains(field), "\(field) is not in \(fields)") }
        _ = try await desk.call(
            .call(
                destination: BusNames.service, path: BusNames.root, interface: BusNames.access,
                member: "RequestAccess", [.strings(["camera"]), .properties(["handle_token": .string("t")])]))
        try await journal.log.first("the request") { $0.contains("PERMD_REQUEST=/org/permd/request/1_") }
        _ = try await desk.call(
            .call(
                destination: BusNames.service, path: BusNames.root, interface: BusNames.policy, member: "Reset",
                [.string("exe:/usr/bin/a"), .string("camera")]))
        let reset = try await journal.log.first("the reset") { $0.contains("PERMD_OUTCOME=reset") }
        #expect(reset.contains("PERMD_APP=exe:/usr/bin/a\n") && reset.contains("PERMD_PERMISSION=camera\n"))
        desk.close()
        permd.terminate()
        _ = await permd.waitForExit()
        await bus.end()
    }
}

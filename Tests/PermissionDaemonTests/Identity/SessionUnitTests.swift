// Which processes are the main one of a service of their user's systemd.

import Foundation
import PermissionTestKit
import Testing

@testable import ProcessIdentity

struct SessionUnitTests {
    private static let user = "/user.slice/user-1000.slice/user@1000.service"

    /// Process 100, whose parent is 50, whose parent is 1 or 7.
    private func isMain(
        unit: String, of name: String, manager: String = "/usr/lib/systemd/systemd", parentOfManager: Int = 1
    ) throws -> Bool {
        let proc = try TemporaryFolder(["50", "100"])
        for (pid, parent, group) in [(50, parentOfManager, "init.scope"), (100, 50, unit)] {
            let zeros = Array(repeating: "0", count: 48).joined(separator: " ")
            try proc.write("\(pid) (a b) S \(parent) \(zeros)\n", to: "\(pid)/stat")
            try proc.write("0::\(SessionUnitTests.user)/\(group)\n", to: "\(pid)/cgroup")
        }
        try FileManager.default.createSymbolicLink(atPath: proc.file("50/exe"), withDestinationPath: manager)
        return SessionUnit(reader: ProcessReader(root: proc.path)).isMain(100, of: name)
    }

    @Test(arguments: [
        ("session.slice/pipewire.service", "pipewire", true),
        ("session.slice/pipewire-pulse.service", "pipewire", false),
        ("session.slice/wireplumber@bluetooth.service", "wireplumber", true),
        ("app.slice/run-1.service", "pipewire", false),
        ("app.slice/app-pipewire-1.scope", "pipewire", false), ("pipewire.service/x", "pipewire", true),
        ("app.slice/pipewire.scope", "pipewire", false), ("", "pipewire", false),
    ])
    func theUnit(_ unit: String, _ name: String, _ expected: Bool) throws {
        #expect(try isMain(unit: unit, of: name) == expected)
    }

    /// Anybody can start a program from their own manager, or from no manager.
    @Test func theParent() throws {
        let unit = "session.slice/pipewire.service"
        #expect(try !isMain(unit: unit, of: "pipewire", manager: "/usr/bin/env"))
        #expect(try !isMain(unit: unit, of: "pipewire", parentOfManager: 7))
    }
}

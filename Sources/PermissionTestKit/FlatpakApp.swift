// An app under test's control in a flatpak's sandbox, or what looks like one to whoever asks the kernel.

import DBus
import Glibc
import PermissionModel

/// A command that runs the program after it at a root of its own with a /.flatpak-info as flatpak makes it, as the user
/// the tests run as. By sudo if that is not root: a user namespace would be seen by whoever asks the kernel, and not every
/// system lets users make one.
public struct FlatpakSandbox: Sendable {
    /// Before the program and its arguments.
    public let command: [String]
    /// Needed for as long as the program runs.
    let folder: TemporaryFolder

    /// - Parameter info: the text of /.flatpak-info; by default that of the app `id`.
    public init(_ id: String, info: String? = nil) throws(TestKitError) {
        folder = try TemporaryFolder()
        let instance = UInt32.random(in: 1...UInt32.max)
        try folder.write(info ?? "[Application]\nname=\(id)\n\n[Instance]\ninstance-id=\(instance)\n", to: "info")
        command = Superuser.command + ["unshare", "--mount", FlatpakSandbox.enter, folder.path] + Superuser.back
    }

    /// `scripts/as-flatpak` of this package.
    private static var enter: String {
        let parts = #filePath.split(separator: "/").dropLast(3)
        return "/" + parts.joined(separator: "/") + "/scripts/as-flatpak"
    }
}

extension TestApp {
    /// Runs it in such a sandbox.
    /// - Parameter info: the text of /.flatpak-info; by default that of the app `id`.
    public static func flatpak(
        _ id: String, on daemon: PermdProcess, info: String? = nil
    ) async throws -> TestApp {
        let sandbox = try FlatpakSandbox(id, info: info)
        guard let app = AppID("flatpak:\(id)") else { throw TestKitError("\(id) is no flatpak's id") }
        return try await TestApp("inside", on: daemon, through: (sandbox.command, app), keeping: sandbox.folder)
    }
}

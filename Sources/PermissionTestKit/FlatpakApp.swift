// An app under test's control in a flatpak's sandbox, or what looks like one to whoever asks the kernel.

import DBus
import Glibc
import PermissionModel

/// A command that runs the program after it at a root of its own with a /.flatpak-info as flatpak makes it. Takes root,
/// or a kernel that lets users make namespaces.
public struct FlatpakSandbox: Sendable {
    /// Before the program and its arguments.
    public let command: [String]
    /// Needed for as long as the program runs.
    let folder: TemporaryFolder

    /// - Parameter info: the text of /.flatpak-info; by default that of the app `id`.
    public init(_ id: String, info: String? = nil) throws(TestKitError) {
        folder = try TemporaryFolder()
        try folder.write(info ?? "[Application]\nname=\(id)\n\n[Instance]\ninstance-id=7\n", to: "info")
        let user = geteuid() == 0 ? [] : ["--map-root-user"]
        command = ["unshare"] + user + ["--mount", FlatpakSandbox.enter, folder.path]
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

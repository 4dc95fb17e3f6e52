// An app under test's control in a flatpak's sandbox, or what looks like one to whoever asks the kernel.

import DBus
import Glibc
import PermissionModel

extension TestApp {
    /// Runs it at a root of its own with a /.flatpak-info as flatpak makes it. Takes root, or a kernel that lets users
    /// make namespaces.
    /// - Parameter info: the text of /.flatpak-info; by default that of the app `id`.
    public static func flatpak(
        _ id: String, on daemon: PermdProcess, info: String? = nil
    ) async throws -> TestApp {
        let folder = try TemporaryFolder()
        try folder.write(info ?? "[Application]\nname=\(id)\n\n[Instance]\ninstance-id=7\n", to: "info")
        guard let app = AppID("flatpak:\(id)") else { throw TestKitError("\(id) is no flatpak's id") }
        let user = geteuid() == 0 ? [] : ["--map-root-user"]
        let command = ["unshare"] + user + ["--mount", enter, folder.path]
        return try await TestApp("inside", on: daemon, through: (command, app), keeping: folder)
    }

    /// `scripts/as-flatpak` of this package.
    private static var enter: String {
        let parts = #filePath.split(separator: "/").dropLast(3)
        return "/" + parts.joined(separator: "/") + "/scripts/as-flatpak"
    }
}

// Which programs outside sandboxes one of them could have made: those of the same folder of a user.

import PermissionModel

extension Limits {
    /// As many requests as this many apps may have waiting, the programs in one folder of a user may have together: one
    /// of them can make any number of others.
    static let appsPerFolder = 4
    /// One in so many of all waiting requests is for sandboxed apps only: they cannot choose what they are called, so
    /// they cannot take all places as other programs can.
    static let sandboxedPlaces = 8
}

extension AppID {
    /// The first parts of paths that only the system and the administrator write.
    private static let systemFolders: Set<String> = [
        "usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "opt", "etc", "nix", "gnu", "snap",
    ]

    /// The folder that the program is in, or the script that it runs, as far as its first two parts: a home is one
    /// folder, whatever folders are made in it. Nil for what a program cannot make as many of as it likes: sandboxed apps,
    /// and programs of the system.
    var userFolder: String? {
        guard kind == .exe, let path = name.utf8.split(separator: UInt8(ascii: ":")).last else { return nil }
        let folders = path.split(separator: UInt8(ascii: "/")).dropLast().prefix(2).map { String(Substring($0)) }
        guard let first = folders.first, !AppID.systemFolders.contains(first) else { return nil }
        return "/" + folders.joined(separator: "/")
    }
}

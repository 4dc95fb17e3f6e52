// What stays the same of a program's path, whatever its version.

/// A path in the store of Nix or Guix, `/nix/store/HASH-NAME-VERSION/…`, or below a snap, `/snap/NAME/REVISION/…`, where each
/// version has a folder of its own.
package enum StorePath {
    private static let snaps = [["snap"], ["var", "lib", "snapd", "snap"]].map { $0.map { Array($0.utf8) } }
    private static let stores = [["nix", "store"], ["gnu", "store"]].map { $0.map { Array($0.utf8) } }
    /// Characters of a hash.
    private static let hashLength = 32

    /// `/nix/store/NAME/…`, `/snap/NAME/current/…`; other paths as they are.
    package static func withoutVersion(_ path: [UInt8]) -> [UInt8] {
        let (slash, dash) = (UInt8(ascii: "/"), UInt8(ascii: "-"))
        var parts = path.split(separator: slash).map(Array.init)
        if let folder = snaps.first(where: { parts.starts(with: $0) }), parts.count > folder.count + 2 {
            // As `current`, a link, names it.
            parts[folder.count + 1] = Array("current".utf8)
            return parts.flatMap { [slash] + $0 }
        }
        guard parts.count > 3, stores.contains(Array(parts[..<2])) else { return path }
        let item = parts[2]
        guard item.count > hashLength + 1, item[hashLength] == dash,
            item[..<hashLength].allSatisfy(isOfHash)
        else { return path }
        let name = item[(hashLength + 1)...]
        let end = name.indices.dropFirst().first {
            name[$0] == dash && $0 + 1 < name.endIndex && isDigit(name[$0 + 1])
        }
        parts[2] = Array(name[..<(end ?? name.endIndex)])
        return parts.flatMap { [slash] + $0 }
    }

    private static func isOfHash(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || isDigit(byte)
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}

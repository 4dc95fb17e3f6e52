// The installed xdg-desktop-portal: its version, where it looks for files, and which backend its version chooses how.

import Glibc

/// A version such as 1.16.0.
struct PortalVersion: Comparable, CustomStringConvertible {
    let parts: [Int]

    init(_ parts: Int...) { self.parts = parts }

    /// Reads the last word of a text, as in `xdg-desktop-portal 1.16.0`.
    init?(_ text: String) {
        guard let word = text.split(whereSeparator: \.isWhitespace).last else { return nil }
        let numbers = word.split(separator: ".").map { $0.prefix { $0.isASCII && $0.isNumber } }
        guard numbers.count >= 2, !numbers[0].isEmpty, !numbers[1].isEmpty else { return nil }
        parts = numbers.map { Int($0) ?? 0 }
    }

    var description: String { parts.map(String.init).joined(separator: ".") }

    static func < (a: PortalVersion, b: PortalVersion) -> Bool { a.parts.lexicographicallyPrecedes(b.parts) }

    /// The first with portals.conf(5). Earlier ones know only the key UseIn of .portal files.
    static let readsConfiguration = PortalVersion(1, 17)
    /// The first that looks for .portal files in all data folders, rather than only in that of its own prefix.
    static let searchesDataFolders = PortalVersion(1, 20, 1)
    /// The first that reads a portals.conf from each folder; earlier ones read only the first one they find.
    static let combinesFiles = PortalVersion(1, 21, 1)
}

struct PortalInstallation {
    static let access = "org.freedesktop.impl.portal.Access"
    /// The name of permd's .portal file without the suffix.
    static let backend = "permd"
    private static let service = "dbus-1/services/org.freedesktop.portal.Desktop.service"

    let program: String
    let version: PortalVersion
    /// The systemd unit that runs it.
    static let unit = "xdg-desktop-portal.service"
    /// `/usr` for `/usr/libexec/xdg-desktop-portal`.
    let prefix: String
    /// The names of the desktop, in their order of preference, without permd.
    let desktops: [String]
    /// Whether the environment names permd as a desktop, so that portals before 1.17 use it.
    let isDesktop: Bool

    /// The installation whose service file the bus would use; nil if there is none.
    /// - Throws: ``Failure`` if its version cannot be determined.
    static func find() throws(Failure) -> PortalInstallation? {
        for folder in [Folders.data] + Folders.datas {
            guard let text = Folders.text("\(folder)/\(service)"), let group = KeyFile(text).groups["D-BUS Service"],
                let program = group["Exec"]?.split(separator: " ").first.map(String.init), program.hasPrefix("/")
            else { continue }
            let prefix = prefix(of: program)
            guard let version = version(of: program, prefix) else {
                throw Failure(
                    .no,
                    """
                    the version of \(program) cannot be determined: \(program) --version does not print it; \
                    reinstall xdg-desktop-portal
                    """)
            }
            let desktops = currentDesktops()
            return PortalInstallation(
                program: program, version: version, prefix: prefix,
                desktops: desktops.filter { $0.lowercased() != backend },
                isDesktop: desktops.first?.lowercased() == backend)
        }
        return nil
    }

    private static func prefix(of program: String) -> String {
        let parts = program.split(separator: "/")
        let end = parts.lastIndex { ["libexec", "lib", "lib64", "bin"].contains($0) } ?? 0
        return parts[..<end].reduce("") { "\($0)/\($1)" }
    }

    /// What the program prints, or else what its development files or its documentation show.
    private static func version(of program: String, _ prefix: String) -> PortalVersion? {
        if let printed = try? ProgramOutput.of([program, "--version"]), printed.isSuccess,
            let version = PortalVersion(printed.text)
        {
            return version
        }
        for folder in ["share", "lib"] {
            let lines =
                Folders.text("\(prefix)/\(folder)/pkgconfig/xdg-desktop-portal.pc")?.split(separator: "\n") ?? []
            if let line = lines.first(where: { $0.hasPrefix("Version:") }), let version = PortalVersion(String(line)) {
                return version
            }
        }
        let manual = Folders.names(in: "\(prefix)/share/man/man5").contains { $0.hasPrefix("portals.conf.5") }
        return manual ? .readsConfiguration : nil
    }

    /// The desktop of this session, or else, as in a login over ssh, of the one that systemd knows.
    private static func currentDesktops() -> [String] {
        var value = Folders.variable("XDG_CURRENT_DESKTOP")
        if value == nil, let shown = try? ProgramOutput.of(["systemctl", "--user", "show-environment"]), shown.isSuccess
        {
            let key = "XDG_CURRENT_DESKTOP="
            value = shown.text.split(separator: "\n").first { $0.hasPrefix(key) }.map {
                String($0.dropFirst(key.count))
            }
        }
        // Names of other forms could not be written into a unit as they are.
        return (value ?? "").split(separator: ":").map(String.init).filter { name in
            name.utf8.allSatisfy { $0 < 0x80 } && name.allSatisfy { $0.isLetter || $0.isNumber || "._+-".contains($0) }
        }
    }

    // MARK: Its files

    /// The folders in which it looks for .portal files.
    var backendFolders: [String] {
        let own = "\(prefix)/share/xdg-desktop-portal/portals"
        guard version >= .searchesDataFolders else { return [own] }
        return ([Folders.data] + Folders.datas).map { "\($0)/xdg-desktop-portal/portals" } + [own]
    }

    /// permd's .portal file; nil if it is not where this version looks for it.
    var backendFile: String? {
        backendFolders.map { "\($0)/\(PortalInstallation.backend).portal" }.first { Folders.text($0) != nil }
    }

    /// The file in another data folder, in which this version does not look; nil if there is none.
    var backendElsewhere: String? {
        ([Folders.data] + Folders.datas)
            .map { "\($0)/xdg-desktop-portal/portals/\(PortalInstallation.backend).portal" }
            .first { Folders.text($0) != nil }
    }
}

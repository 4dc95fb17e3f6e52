// The installed xdg-desktop-portal: its version, where it looks for files, and which backend its version chooses how.

import Glibc
import System

struct PortalInstallation {
    static let access = "org.freedesktop.impl.portal.Access"
    /// The name of permd's .portal file without the suffix.
    static let backend = "permd"
    /// The systemd unit that runs it.
    static let unit = "xdg-desktop-portal.service"

    let program: String
    /// A version such as 1.16.0.
    let version: String
    /// The names of the desktop, in their order of preference, without permd.
    let desktops: [String]
    /// Whether the environment names permd as a desktop, so that portals before 1.17 use it.
    let isDesktop: Bool

    /// The installation whose service file the bus would use.
    /// - Throws: ``Failure`` if there is none, or if its version cannot be determined.
    init() throws(Failure) {
        let service = "dbus-1/services/org.freedesktop.portal.Desktop.service"
        let commands = ([Folders.data] + Folders.datas).lazy.compactMap {
            KeyFile(path: "\($0)/\(service)")?.string("Exec", in: "D-BUS Service")
        }
        guard let program = commands.first?.split(separator: " ").first.map(String.init) else {
            throw Failure(.no, "xdg-desktop-portal is not installed, so no app asks through portals")
        }
        guard let version = Program.output(program, "--version")?.split(whereSeparator: \.isWhitespace).last,
            version.contains(".")
        else {
            throw Failure(
                .no,
                """
                the version of \(program) cannot be determined: \(program) --version does not print it; \
                reinstall xdg-desktop-portal
                """)
        }
        let desktops = PortalInstallation.currentDesktops()
        self.program = program
        self.version = String(version)
        self.desktops = desktops.filter { $0.lowercased() != PortalInstallation.backend }
        isDesktop = desktops.first?.lowercased() == PortalInstallation.backend
    }

    /// Whether it reads portals.conf(5). Earlier versions know only the key UseIn of .portal files.
    var readsConfiguration: Bool { isAtLeast(1, 17) }
    /// Whether it looks for .portal files in all data folders, rather than only in that of its own prefix.
    private var searchesDataFolders: Bool { isAtLeast(1, 20, 1) }
    /// Whether it reads a portals.conf from each folder; earlier versions read only the first one they find.
    var combinesFiles: Bool { isAtLeast(1, 21, 1) }

    private func isAtLeast(_ parts: Int...) -> Bool {
        !version.split(separator: ".").map { Int($0) ?? 0 }.lexicographicallyPrecedes(parts)
    }

    /// `/usr` for `/usr/libexec/xdg-desktop-portal`.
    var prefix: String {
        let parts = program.split(separator: "/")
        let end = parts.lastIndex { ["libexec", "lib", "lib64", "bin"].contains($0) } ?? 0
        return parts[..<end].reduce("") { "\($0)/\($1)" }
    }

    /// The desktop of this session, or else, as in a login over ssh, of the one that systemd knows.
    private static func currentDesktops() -> [String] {
        let key = "XDG_CURRENT_DESKTOP="
        let value =
            Folders.variable(String(key.dropLast()))
            ?? Program.output("systemctl", "--user", "show-environment")?.split(separator: "\n")
            .first { $0.hasPrefix(key) }.map { String($0.dropFirst(key.count)) }
        // Names of other forms could not be written into a unit as they are.
        return (value ?? "").split(separator: ":").map(String.init).filter { name in
            name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._+-".contains($0)) }
        }
    }

    // MARK: Its files

    /// The folders in which it looks for .portal files.
    var backendFolders: [String] {
        let own = "\(prefix)/share/xdg-desktop-portal/portals"
        return searchesDataFolders ? PortalInstallation.dataFolders + [own] : [own]
    }

    private static var dataFolders: [String] {
        ([Folders.data] + Folders.datas).map { "\($0)/xdg-desktop-portal/portals" }
    }

    /// permd's .portal file; nil if it is not where this version looks for it.
    var backendFile: String? { PortalInstallation.backendFile(in: backendFolders) }

    /// The file in any data folder; nil if there is none.
    var backendElsewhere: String? { PortalInstallation.backendFile(in: PortalInstallation.dataFolders) }

    private static func backendFile(in folders: [String]) -> String? {
        folders.map { "\($0)/\(backend).portal" }.first { Glibc.access($0, R_OK) == 0 }
    }
}

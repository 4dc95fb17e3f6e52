// Finds the portal backend whose dialog is used: the one that xdg-desktop-portal would call (portals.conf(5), *.portal
// files).

import CGtk
import Glibc

/// A program that shows dialogs for org.freedesktop.impl.portal.Access.
struct PortalBackend: Equatable {
    /// The name of its `.portal` file without the suffix.
    let name: String
    let busName: String

    /// Whether its dialogs are modal to the whole screen, as those of GNOME Shell and Phosh are.
    var isSystemModal: Bool { ["gnome", "gnome-shell", "phosh"].contains(name) }
}

struct PortalBackends {
    static let access = "org.freedesktop.impl.portal.Access"
    /// permd's own backend. It is never used, because it asks the daemon, which would prompt through this agent again.
    static let own = "org.freedesktop.impl.portal.desktop.permd"

    /// Folders searched for portals.conf; the first file found counts.
    let configuration: [String]
    /// Folders searched for `portals/*.portal`.
    let data: [String]
    /// `$XDG_CURRENT_DESKTOP`, in lower case.
    let desktops: [String]

    /// The folders and desktops from the environment (XDG Base Directory and Desktop Entry specifications).
    static func standard() -> PortalBackends {
        func variable(_ name: String) -> String? {
            getenv(name).map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
        }
        func list(_ name: String, _ standard: String) -> [String] {
            (variable(name) ?? standard).split(separator: ":").map { "\($0)/xdg-desktop-portal" }
        }
        let home = variable("HOME") ?? "/"
        let data =
            ["\(variable("XDG_DATA_HOME") ?? "\(home)/.local/share")/xdg-desktop-portal"]
            + list("XDG_DATA_DIRS", "/usr/local/share:/usr/share")
        let configuration =
            ["\(variable("XDG_CONFIG_HOME") ?? "\(home)/.config")/xdg-desktop-portal"]
            + list("XDG_CONFIG_DIRS", "/etc/xdg") + ["/etc/xdg-desktop-portal"] + data
        return PortalBackends(
            configuration: configuration, data: data,
            desktops: (variable("XDG_CURRENT_DESKTOP") ?? "").split(separator: ":").map { $0.lowercased() })
    }

    /// The best installed backend with access dialogs; nil if there is none, or the configuration says `none`.
    func find() -> PortalBackend? {
        let installed = installed()
        let preferred = preferred()
        for name in preferred ?? [] {
            if name == "none" { return nil }
            if let found = installed.first(where: { name == "*" || $0.backend.name == name }) { return found.backend }
        }
        // Before version 1.17, xdg-desktop-portal used only UseIn.
        let fitting = installed.first { $0.useIn.contains(where: desktops.contains) }
        return (fitting ?? installed.first { $0.backend.name == "gtk" } ?? installed.first)?.backend
    }

    /// The backends that the first configuration file prefers for Access, or else by default.
    private func preferred() -> [String]? {
        for folder in configuration {
            for name in desktops.map({ "\($0)-portals.conf" }) + ["portals.conf"] {
                guard let group = PortalBackends.read("\(folder)/\(name)", "preferred") else { continue }
                return (group[PortalBackends.access] ?? group["default"]).map(PortalBackends.words)
            }
        }
        return nil
    }

    private func installed() -> [(backend: PortalBackend, useIn: [String])] {
        var found: [(backend: PortalBackend, useIn: [String])] = []
        for folder in data.map({ "\($0)/portals" }) {
            for file in PortalBackends.files(folder)
            where !found.contains(where: { "\($0.backend.name).portal" == file }) {
                guard let group = PortalBackends.read("\(folder)/\(file)", "portal"), let busName = group["DBusName"],
                    busName != PortalBackends.own,
                    PortalBackends.words(group["Interfaces"] ?? "").contains(PortalBackends.access)
                else { continue }
                let useIn = PortalBackends.words(group["UseIn"] ?? "").map { $0.lowercased() }
                found.append((PortalBackend(name: String(file.dropLast(".portal".count)), busName: busName), useIn))
            }
        }
        return found
    }

    private static func files(_ folder: String) -> [String] {
        guard let directory = opendir(folder) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name.hasSuffix(".portal") { names.append(name) }
        }
        return names.sorted()
    }

    private static func words(_ text: String) -> [String] {
        text.split(separator: ";").map { String($0.trimmingSpaces()) }.filter { !$0.isEmpty }
    }

    /// Reads one group of a key file. Returns nil if there is no such regular file.
    private static func read(_ path: String, _ group: String) -> [String: String]? {
        // Opening a FIFO without O_NONBLOCK could block forever.
        let fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard fd >= 0 else { return nil }
        defer { close(fd) }
        var status = stat()
        guard fstat(fd, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return nil }
        // These files are a few hundred bytes.
        var bytes = [UInt8](repeating: 0, count: 64 << 10)
        let count = max(0, Glibc.read(fd, &bytes, bytes.count))
        var values: [String: String] = [:]
        var isInGroup = false
        let text = String(decoding: bytes[..<count], as: UTF8.self)
        for line in text.split(whereSeparator: { $0 == "\n" || $0 == "\r\n" }) {
            let line = line.trimmingSpaces()
            if line.hasPrefix("[") { isInGroup = line == "[\(group)]" }
            guard isInGroup, !line.hasPrefix("#"), let equals = line.firstIndex(of: "=") else { continue }
            values[String(line[..<equals].trimmingSpaces())] = String(
                line[line.index(after: equals)...].trimmingSpaces())
        }
        return values
    }
}

extension Substring {
    fileprivate func trimmingSpaces() -> Substring {
        var text = self
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }
}

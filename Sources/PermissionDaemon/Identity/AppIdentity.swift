// Which app a process is: the contract's forms, the first that applies.

import PermissionModel

struct AppIdentity {
    let reader: ProcessReader

    /// Interpreters are told apart by the script they run; versions behind the name (python3.11) count as the name.
    static let interpreters: Set<String> = [
        "sh", "bash", "dash", "zsh", "ksh", "mksh", "fish", "busybox", "perl", "python", "ruby", "node", "nodejs",
        "lua",
        "luajit", "php", "tclsh", "wish", "guile", "gjs", "gjs-console", "pwsh", "deno", "bun", "Rscript", "osh",
    ]

    func app(of pid: Int32) throws(UnknownProcess) -> AppID {
        if let info = try reader.flatpakInfo(pid) { return try AppIdentity.flatpak(info) }
        let unit = try reader.controlGroup(pid)
        if let snap = AppIdentity.snap(unit) { return snap }
        if let desktop = AppIdentity.desktop(unit) { return desktop }
        return try program(pid)
    }

    // MARK: Sandboxes

    /// `name` of the group [Application] (flatpak-metadata(5)).
    static func flatpak(_ info: [UInt8]) throws(UnknownProcess) -> AppID {
        guard let text = String(validating: info, as: UTF8.self) else {
            throw UnknownProcess(reason: "its .flatpak-info is no text")
        }
        var group = ""
        for line in text.split(whereSeparator: \.isNewline) {
            let line = trimmed(line)
            if line.hasPrefix("["), line.hasSuffix("]") {
                group = String(line.dropFirst().dropLast())
            } else if group == "Application", let equals = line.firstIndex(of: "="),
                trimmed(line[..<equals]) == "name"
            {
                let name = trimmed(line[line.index(after: equals)...])
                guard isFlatpakName(name), let app = AppID("flatpak:\(name)") else { break }
                return app
            }
        }
        throw UnknownProcess(reason: "its .flatpak-info names no application")
    }

    /// Letters, digits, `_`, `-` and dots between: a D-Bus name's alphabet.
    private static func isFlatpakName(_ name: Substring) -> Bool {
        name.utf8.count <= 255 && name.contains(".")
            && name.utf8.allSatisfy { isAlphanumeric($0) || "._-".utf8.contains($0) }
    }

    /// A component `snap.NAME.…` of the control group.
    static func snap(_ controlGroup: String) -> AppID? {
        for unit in components(controlGroup) where unit.hasPrefix("snap.") {
            let parts = unit.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count >= 4, ["scope", "service"].contains(parts.last), !parts[1].isEmpty,
                parts[1].utf8.allSatisfy({ isAlphanumeric($0) || "_-+".utf8.contains($0) })
            else { continue }
            return AppID("snap:\(parts[1])")
        }
        return nil
    }

    // MARK: Desktop

    /// The user unit `app[-LAUNCHER]-ID-RANDOM.scope` or `app[-LAUNCHER]-ID[@RANDOM].service`.
    static func desktop(_ controlGroup: String) -> AppID? {
        guard let unit = userUnit(controlGroup), unit.hasPrefix("app-") else { return nil }
        var parts: [Substring]
        if unit.hasSuffix(".scope") {
            parts = unit.dropLast(6).split(separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 3 || parts.count == 4 else { return nil }
            parts.removeLast()
        } else if unit.hasSuffix(".service") {
            let name = unit.dropLast(8)
            parts = name[..<(name.firstIndex(of: "@") ?? name.endIndex)].split(
                separator: "-", omittingEmptySubsequences: false)
            guard parts.count == 2 || parts.count == 3 else { return nil }
        } else {
            return nil
        }
        guard let last = parts.last, let id = unescaped(last), !id.isEmpty else { return nil }
        return AppID("desktop:\(id)")
    }

    /// The first component below the user's own manager that is no slice, as sd_pid_get_user_unit(3) finds it.
    private static func userUnit(_ controlGroup: String) -> Substring? {
        let parts = components(controlGroup)
        guard let manager = parts.lastIndex(where: { $0.hasPrefix("user@") && $0.hasSuffix(".service") }) else {
            return nil
        }
        return parts[(manager + 1)...].first { !$0.hasSuffix(".slice") }
    }

    /// The path of the unified hierarchy, or of systemd's own on older systems.
    private static func components(_ controlGroup: String) -> [Substring] {
        // Number, controllers and path (cgroups(7)).
        let lines = controlGroup.split(separator: "\n").map {
            $0.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
        }.filter { $0.count == 3 }
        let line = lines.first { $0[0] == "0" && $0[1].isEmpty } ?? lines.first { $0[1] == "name=systemd" }
        return line?[2].split(separator: "/") ?? []
    }

    /// systemd's `\xNN`.
    static func unescaped(_ text: Substring) -> String? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                bytes.append(byte)
                continue
            }
            guard rest.popFirst() == UInt8(ascii: "x"), let high = rest.popFirst(), let low = rest.popFirst(),
                let value = UInt8(String(decoding: [high, low], as: UTF8.self), radix: 16)
            else { return nil }
            bytes.append(value)
        }
        return String(validating: bytes, as: UTF8.self)
    }

    // MARK: Programs

    private func program(_ pid: Int32) throws(UnknownProcess) -> AppID {
        let path = try reader.executable(pid)
        guard AppIdentity.isInterpreter(path), let script = script(pid) else {
            return .executable(path)
        }
        return .executable(path, script: script)
    }

    static func isInterpreter(_ path: [UInt8]) -> Bool {
        guard let base = path.split(separator: UInt8(ascii: "/")).last else { return false }
        let name = String(decoding: base, as: UTF8.self)
        let bare = String(name.reversed().drop { $0.isNumber || $0 == "." || $0 == "-" }.reversed())
        return interpreters.contains(name) || interpreters.contains(bare)
    }

    /// The first argument, taken from the process's folder, if that is a file; with an option before it, none.
    private func script(_ pid: Int32) -> [UInt8]? {
        guard let arguments = try? reader.arguments(pid), arguments.count > 1, let first = arguments[1].first,
            first != UInt8(ascii: "-"), let folder = try? reader.workingDirectory(pid)
        else { return nil }
        let path = AppIdentity.absolute(arguments[1], from: folder)
        return reader.isFile(path, seenBy: pid) ? path : nil
    }

    /// The path without `.`, `..` and double slashes.
    static func absolute(_ path: [UInt8], from folder: [UInt8]) -> [UInt8] {
        let slash = UInt8(ascii: "/")
        let whole = path.first == slash ? path : folder + [slash] + path
        var parts: [ArraySlice<UInt8>] = []
        for part in whole.split(separator: slash) {
            switch String(decoding: part, as: UTF8.self) {
            case ".": continue
            case "..": _ = parts.popLast()
            default: parts.append(part)
            }
        }
        return parts.isEmpty ? [slash] : parts.flatMap { [slash] + $0 }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }
}

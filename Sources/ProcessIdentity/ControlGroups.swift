// What a process's control groups say about it: its snap, its flatpak, or its unit of the systemd user manager.
//
// Everything is compared as bytes: in a String, a slash followed by a combining mark is a single Character and would
// hide the separator.

import PermissionModel

/// `/proc/PID/cgroup` (cgroups(7)).
struct ControlGroups {
    typealias Text = ArraySlice<UInt8>

    private struct Line {
        let isUnified: Bool
        /// `name=systemd`, `freezer`
        let controllers: [Text]
        let components: [Text]
    }

    private let lines: [Line]

    init(_ text: [UInt8]) {
        lines = text.split(separator: UInt8(ascii: "\n")).compactMap { line in
            let parts = line.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
            guard parts.count == 3 else { return nil }
            return Line(
                isUnified: parts[0].elementsEqual("0".utf8) && parts[1].isEmpty,
                controllers: parts[1].split(separator: UInt8(ascii: ",")),
                components: parts[2].split(separator: UInt8(ascii: "/")))
        }
    }

    /// The snaps that any line names. More than one is contradictory.
    var snaps: Set<AppID> {
        var found: Set<AppID> = []
        for line in lines {
            // Without a unified hierarchy, snapd also puts all of a snap into one group of the freezer.
            let isFreezer = line.controllers.contains { $0.elementsEqual("freezer".utf8) }
            for component in line.components {
                if let snap = ControlGroups.snap(component, isFreezer: isFreezer) { found.insert(snap) }
            }
        }
        return found
    }

    /// The path, in the unified hierarchy, of the snap's unit; nil if there is none.
    var snapScope: String? {
        guard let parts = lines.first(where: \.isUnified)?.components,
            let end = parts.lastIndex(where: { ControlGroups.snap($0, isFreezer: false) != nil })
        else { return nil }
        return parts[...end].map { "/" + String(decoding: $0, as: UTF8.self) }.joined()
    }

    /// Matches `snap.NAME.APP….scope`, `snap.NAME.APP.service`, and `snap.NAME` in the freezer.
    private static func snap(_ component: Text, isFreezer: Bool) -> AppID? {
        let parts = component.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard parts[0].elementsEqual("snap".utf8) else { return nil }
        let isUnit = parts.count >= 4 && ["scope", "service"].contains { parts.last!.elementsEqual($0.utf8) }
        guard isUnit || isFreezer && parts.count == 2 else { return nil }
        return snap(named: parts[1])
    }

    /// Returns nil if the name is not valid for a snap: letters, digits, `_`, `-` and `+`.
    static func snap(named name: Text) -> AppID? {
        guard !name.isEmpty, name.allSatisfy({ AppIdentity.isAlphanumeric($0) || "_-+".utf8.contains($0) }) else {
            return nil
        }
        return AppID("snap:\(String(decoding: name, as: UTF8.self))")
    }

    /// The IDs in all scopes `app-flatpak-ID-INSTANCE.scope`, into which flatpak puts its apps, in any line.
    var flatpaks: Set<[UInt8]> {
        var found: Set<[UInt8]> = []
        for unit in lines.flatMap(\.components) {
            guard unit.starts(with: "app-flatpak-".utf8), let name = ControlGroups.without(".scope", unit) else {
                continue
            }
            let parts = name.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            guard parts.count == 4, let id = ControlGroups.unescaped(parts[2]) else { continue }
            found.insert(id)
        }
        return found
    }

    /// The ID of the desktop entry in the user unit `app[-LAUNCHER]-ID-RANDOM.scope` or `app[-LAUNCHER]-ID[@RANDOM].service`:
    /// of what the desktop has started, which may have started others (Desktop Environment Integration of systemd).
    var desktopEntry: String? {
        guard let unit = userUnit, unit.starts(with: "app-".utf8) else { return nil }
        var parts: [Text]
        if let scope = ControlGroups.without(".scope", unit) {
            parts = scope.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            guard parts.count == 3 || parts.count == 4 else { return nil }
            parts.removeLast()
        } else if let service = ControlGroups.without(".service", unit) {
            parts = service.prefix { $0 != UInt8(ascii: "@") }.split(
                separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
            guard parts.count == 2 || parts.count == 3 else { return nil }
        } else {
            return nil
        }
        guard let last = parts.last, let bytes = ControlGroups.unescaped(last), !bytes.isEmpty,
            let id = String(validating: bytes, as: UTF8.self), !id.contains("/")
        else { return nil }
        return id
    }

    /// The first component below the user manager that is not a slice, as in sd_pid_get_user_unit(3). Taken from the
    /// unified hierarchy, or from systemd's named hierarchy on older systems.
    var userUnit: Text? {
        let named = lines.first { $0.controllers.contains { $0.elementsEqual("name=systemd".utf8) } }
        guard let parts = (lines.first(where: \.isUnified) ?? named)?.components,
            let manager = parts.lastIndex(where: {
                $0.starts(with: "user@".utf8) && ControlGroups.without(".service", $0) != nil
            })
        else { return nil }
        return parts[(manager + 1)...].first { ControlGroups.without(".slice", $0) == nil }
    }

    private static func without(_ suffix: String, _ text: Text) -> Text? {
        text.suffix(suffix.utf8.count).elementsEqual(suffix.utf8) ? text.dropLast(suffix.utf8.count) : nil
    }

    /// Decodes systemd's `\xNN` escapes.
    static func unescaped(_ text: Text) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text
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
        return bytes
    }
}

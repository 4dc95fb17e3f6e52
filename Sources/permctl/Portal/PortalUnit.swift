// The environment of xdg-desktop-portal's user unit, for versions that choose backends by the name of the desktop.

struct PortalUnit {
    static let variable = "XDG_CURRENT_DESKTOP"
    let installation: PortalInstallation

    /// permctl's own drop-in. By its name it comes after override.conf, which systemctl edit writes.
    static var path: String { "\(Folders.config)/systemd/user/\(PortalInstallation.unit).d/permd.conf" }

    /// - Parameter folder: the folder of backends to use; nil for that of the system.
    func lines(folder: String?) -> [String] {
        let desktops = ([PortalInstallation.backend] + installation.desktops).joined(separator: ":")
        let isNamed = installation.version < .readsConfiguration
        return ["[Service]"] + (isNamed ? ["Environment=\(PortalUnit.variable)=\(desktops)"] : [])
            + (folder.map { ["Environment=\"\(PortalFolder.variable)=\($0.replacing("%", with: "%%"))\""] } ?? [])
    }

    /// The names that the unit's drop-ins give the desktop, and the file with the last word; nil if none does.
    var deciding: (desktops: [String], path: String)? {
        value(of: PortalUnit.variable).map { ($0.value.split(separator: ":").map(String.init), $0.path) }
    }

    /// The value that the unit's drop-ins give a variable, and the file with the last word; nil if none does.
    func value(of variable: String) -> (value: String, path: String)? {
        var paths: [String: String] = [:]
        for folder in UserUnits.folders.reversed().map({ "\($0)/\(PortalInstallation.unit).d" }) {
            for name in Folders.names(in: folder) where name.hasSuffix(".conf") { paths[name] = "\(folder)/\(name)" }
        }
        var found: (value: String, path: String)?
        for (_, path) in paths.sorted(by: { $0.key < $1.key }) {
            for assignment in PortalUnit.assignments(of: variable, Folders.text(path) ?? "") {
                guard let assignment else {
                    found = nil
                    continue
                }
                found = (assignment.replacing("%%", with: "%"), path)
            }
        }
        return found
    }

    /// The values of the variable in a unit file; nil for an empty `Environment=`, which undoes earlier ones.
    static func assignments(of variable: String, _ text: String) -> [String?] {
        var values: [String?] = []
        var isService = false
        for line in text.split(whereSeparator: \.isNewline).map(KeyFile.trimmed) {
            if line.hasPrefix("[") { isService = line == "[Service]" }
            guard isService, let equals = line.firstIndex(of: "="),
                KeyFile.trimmed(line[..<equals]) == "Environment"
            else { continue }
            let value = KeyFile.trimmed(line[line.index(after: equals)...])
            if value.isEmpty { values.append(nil) }
            values += words(value).filter { $0.hasPrefix("\(variable)=") }.map {
                String($0.dropFirst(variable.count + 1))
            }
        }
        return values
    }

    /// The words of a value, without the quotes around a word or a part of it.
    private static func words(_ value: Substring) -> [String] {
        var words: [String] = []
        var word = ""
        var quote: Character?
        for character in value {
            if let open = quote {
                if character == open { quote = nil } else { word.append(character) }
            } else if character == "\"" || character == "'" {
                quote = character
            } else if character.isWhitespace {
                if !word.isEmpty { words.append(word) }
                word = ""
            } else {
                word.append(character)
            }
        }
        return word.isEmpty ? words : words + [word]
    }
}

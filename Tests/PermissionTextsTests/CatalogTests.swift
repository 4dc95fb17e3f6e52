// Every string is in the template and the complete catalogs, with the same placeholders.

import Foundation
import PermissionClient
import Testing

@testable import PermissionTexts

@Suite
struct CatalogTests {
    private static let project = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Maps each msgid of a file in `po` to its msgstr; no string here spans several lines.
    private func catalog(_ file: String) throws -> [String: String] {
        let text = try String(contentsOf: CatalogTests.project.appending(path: "po/\(file)"), encoding: .utf8)
        var found: [String: String] = [:]
        var key = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("msgid \"") { key = String(line.dropFirst(7).dropLast()) }
            if line.hasPrefix("msgstr \""), !key.isEmpty {
                #expect(found.updateValue(String(line.dropFirst(8).dropLast()), forKey: key) == nil, "\(key)")
            }
        }
        return found
    }

    /// The strings that the sources pass to `Texts`.
    private func strings() throws -> Set<String> {
        var found = Set(PermissionText.questions.values)
        for text in Permission.allCases.map(PermissionText.of) {
            found.formUnion([text.name, text.question, text.isUsing, text.hasUsed, text.mayAlways])
        }
        for module in ["PermissionTexts", "permd-agent", "permd-indicator", "permd-settings", "permctl"] {
            let folder = CatalogTests.project.appending(path: "Sources/\(module)")
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            where name.hasSuffix(".swift") {
                let source = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
                for match in source.matches(of: /Texts\.(?:text|pattern)\(\s*"([^"]+)"/) {
                    found.insert(String(match.1))
                }
            }
        }
        let shell = CatalogTests.project.appending(path: "gnome-shell")
        for name in try FileManager.default.subpathsOfDirectory(atPath: shell.path) where name.hasSuffix(".js") {
            let source = try String(contentsOf: shell.appending(path: name), encoding: .utf8)
            for match in source.matches(of: /\b_\((?:'([^']+)'|"([^"]+)")\)/) {
                found.insert(String(match.1 ?? match.2 ?? ""))
            }
        }
        return found
    }

    @Test(arguments: ["permd.pot", "de.po", "ja.po"])
    func nothingIsMissing(_ file: String) throws {
        let catalog = try catalog(file)
        let strings = try strings()
        #expect(strings.count > 150)
        #expect(Set(catalog.keys).symmetricDifference(strings) == [])
        #expect(file == "permd.pot" || catalog.values.allSatisfy { !$0.isEmpty })
    }

    /// Of other languages, some texts may be missing, which are shown in English.
    @Test func placeholdersAreTheSame() throws {
        let folder = CatalogTests.project.appending(path: "po").path
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".po") }
        #expect(files.count >= 2)
        for file in files {
            for (key, text) in try catalog(file) where !text.isEmpty {
                let isSame = text.components(separatedBy: "%@").count == key.components(separatedBy: "%@").count
                #expect(isSame, "\(file): \(key)")
            }
        }
    }

    @Test func valuesAreNeverFormats() {
        #expect(Texts.text("%@ of %@", "%n", "%@") == "%n of %@")
        #expect(Texts.text("Device: %@") == "Device: ")
    }
}

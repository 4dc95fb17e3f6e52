// Every string of the window is translated into every language, with the same placeholders.

import Foundation
import Testing

@testable import permd_settings

@Suite
struct CatalogTests {
    private static let project = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Maps each msgid to its msgstr; no string here spans several lines.
    private func catalog(_ language: String) throws -> [String: String] {
        let file = CatalogTests.project.appending(path: "po/settings/\(language).po")
        var found: [String: String] = [:]
        var key = ""
        for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
            if line.hasPrefix("msgid \"") { key = String(line.dropFirst(7).dropLast()) }
            if line.hasPrefix("msgstr \""), !key.isEmpty { found[key] = String(line.dropFirst(8).dropLast()) }
        }
        return found
    }

    /// The strings that the sources pass to `Texts`.
    private func strings() throws -> Set<String> {
        let folder = CatalogTests.project.appending(path: "Sources/permd-settings")
        var found: Set<String> = []
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where name.hasSuffix(".swift") {
            let source = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            for match in source.matches(of: /(?:text|pattern)\(\s*"([^"]+)"/) { found.insert(String(match.1)) }
        }
        return found
    }

    @Test(arguments: ["de", "ja"])
    func nothingIsUntranslated(_ language: String) throws {
        let catalog = try catalog(language)
        let strings = try strings()
        #expect(strings.count > 100)
        #expect(Set(catalog.keys).symmetricDifference(strings) == [])
        for (key, text) in catalog {
            #expect(!text.isEmpty, "\(key)")
            #expect(text.components(separatedBy: "%@").count == key.components(separatedBy: "%@").count, "\(key)")
        }
    }

    @Test func valuesAreNeverFormats() {
        #expect(Texts.text("Rule %@ in %@", "%n", "%@") == "Rule %n in %@")
        #expect(Texts.text("Until %@") == "Until ")
    }
}

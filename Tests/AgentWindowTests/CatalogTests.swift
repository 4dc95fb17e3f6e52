// Every string is translated into every language, with the same placeholders.

import Foundation
import Testing

@testable import permd_agent

@Suite
struct CatalogTests {
    static let project = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Maps each msgid to its msgstr; no string here spans several lines.
    private func catalog(_ language: String) throws -> [String: String] {
        let text = try String(contentsOf: CatalogTests.project.appending(path: "po/\(language).po"), encoding: .utf8)
        var found: [String: String] = [:]
        var key = ""
        for line in text.split(separator: "\n") {
            if line.hasPrefix("msgid \"") { key = String(line.dropFirst(7).dropLast()) }
            if line.hasPrefix("msgstr \""), !key.isEmpty { found[key] = String(line.dropFirst(8).dropLast()) }
        }
        return found
    }

    @Test(arguments: ["de", "ja"])
    func nothingIsUntranslated(_ language: String) throws {
        let catalog = try catalog(language)
        #expect(Set(catalog.keys) == Set(Texts.all))
        for (key, text) in catalog {
            #expect(!text.isEmpty, "\(key)")
            #expect(text.components(separatedBy: "%@").count == key.components(separatedBy: "%@").count, "\(key)")
        }
    }

    /// No source file uses a string that is missing in `Texts.all`.
    @Test func everyTextIsInTheTable() throws {
        let folder = CatalogTests.project.appending(path: "Sources/permd-agent")
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder.path)
        where name.hasSuffix(".swift") {
            let source = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
            for match in source.matches(of: /text\(\s*"([^"]+)"/) {
                #expect(Texts.all.contains(String(match.1)), "\(name): \(match.1)")
            }
        }
    }

    @Test func valuesAreNeverFormats() {
        #expect(Texts.text("%@ of %@", "%n", "%@") == "%n of %@")
        #expect(Texts.text("Device: %@") == "Device: ")
    }
}

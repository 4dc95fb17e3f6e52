// The sources follow ARCHITECTURE.md and CONTRIBUTING.md: permitted imports, file lengths and required comments.

import Foundation
import Testing

@Suite
struct StructureTests {
    private static let project = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Modules of the system and the toolchain, which every module may import.
    private static let everybodys: Set<String> = ["Glibc", "Synchronization", "Dispatch", "Swift"]

    private static func files(_ folder: String, _ suffix: String = ".swift") throws -> [URL] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: project.appending(path: folder).path)
        return names.filter { $0.hasSuffix(suffix) }.map { project.appending(path: "\(folder)/\($0)") }
    }

    /// The folder of a module; programs that are not installed are in Tools.
    private static func folder(of module: String) -> String {
        let folders = ["Tools/\(module)", "Tests/\(module)"]
        return folders.first { FileManager.default.fileExists(atPath: project.appending(path: $0).path) }
            ?? "Sources/\(module)"
    }

    /// The table of ARCHITECTURE.md: `| module | does | may import |`.
    private static func table() throws -> [String: Set<String>] {
        let text = try String(contentsOf: project.appending(path: "ARCHITECTURE.md"), encoding: .utf8)
        let lines = text.split(separator: "\n")
        let start = try #require(lines.firstIndex { $0.hasPrefix("| module") })
        var table: [String: Set<String>] = [:]
        var all: Set<String> = []
        for line in lines[(start + 2)...].prefix(while: { $0.hasPrefix("|") }) {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let module = cells[0].replacing("`", with: "")
            var allowed = Set(cells[2].split(separator: ",").map { $0.trimmingCharacters(in: .whitespaces) })
            if allowed.remove("all above") != nil { allowed.formUnion(all) }
            allowed.remove("standard library")
            table[module] = allowed
            all.formUnion(allowed.union([module]))
        }
        return table
    }

    @Test func importsMatchTheTable() throws {
        let table = try StructureTests.table()
        let sources = try FileManager.default.contentsOfDirectory(
            atPath: StructureTests.project.appending(path: "Sources").path)
        let modules = try sources.filter { try !StructureTests.files("Sources/\($0)").isEmpty }
        #expect(Set(modules).subtracting(table.keys).isEmpty, "these have no row")
        for (module, allowed) in table {
            let files = try StructureTests.files(StructureTests.folder(of: module))
            #expect(!files.isEmpty, "\(module) has no sources")
            for file in files {
                let text = try String(contentsOf: file, encoding: .utf8)
                for line in text.split(separator: "\n") where line.contains("import ") && !line.hasPrefix("//") {
                    let words = line.split(separator: " ")
                    guard let place = words.firstIndex(of: "import"), place + 1 < words.count,
                        words[..<place].allSatisfy({ ["public", "package"].contains($0) || $0.hasPrefix("@") })
                    else { continue }
                    let name = String(words[place + 1])
                    #expect(
                        allowed.contains(name) || StructureTests.everybodys.contains(name),
                        "\(module)/\(file.lastPathComponent) imports \(name)")
                }
            }
        }
    }

    /// The folders of the daemon in their order: each names only types of its own and of those before it. The files
    /// beside the folders join them.
    private static let order = [
        "Identity", "Calls", "Store", "Rules", "Session", "Devices", "Usage", "Access", "Agents", "Portal",
        "Enforcement", "Settings", "",
    ]

    @Test func foldersOfTheDaemonHaveAnOrder() throws {
        var sources: [(place: Int, name: String, code: String)] = []
        for file in try StructureTests.files("Sources/PermissionDaemon") {
            let name = String(file.path.split(separator: "/PermissionDaemon/").last ?? "")
            let folder = name.contains("/") ? String(name.prefix { $0 != "/" }) : ""
            let place = try #require(StructureTests.order.firstIndex(of: folder), "\(folder) has no place in the order")
            let code = try String(contentsOf: file, encoding: .utf8).replacing(/\/\/.*/, with: "")
            sources.append((place, name, code))
        }
        var placeOf: [String: Int] = [:]
        for source in sources {
            for match in source.code.matches(of: /(?m)^(?:[a-z@][\w()]* )*(?:class|struct|enum|protocol) (\w+)/)
            where !match.output.0.contains("private") {
                placeOf[String(match.output.1)] = source.place
            }
        }
        #expect(placeOf.count > 50 && Set(placeOf.values).count == StructureTests.order.count)
        for source in sources {
            let later = Set(source.code.matches(of: /\b[A-Z]\w+/).map { String($0.output) }).filter {
                (placeOf[$0] ?? 0) > source.place
            }
            #expect(later.isEmpty, "\(source.name) names \(later.sorted().joined(separator: ", "))")
        }
    }

    /// What the daemon knows of its file is in one folder.
    @Test func onlyTheStoreNamesItsDatabase() throws {
        for file in try StructureTests.files("Sources/PermissionDaemon") where !file.path.contains("/Store/") {
            let text = try String(contentsOf: file, encoding: .utf8)
            let found = text.firstMatch(of: /\b(Database|DatabaseError|Statement|SQLValue|RowCondition|[A-Z]\w+Rows)\b/)
            #expect(found == nil, "\(file.lastPathComponent) names \(found?.output.0 ?? "")")
        }
    }

    @Test func filesAreShortAndStateTheirPurpose() throws {
        let scripts = try StructureTests.files("wireplumber", ".lua")
        for file in try StructureTests.files("Sources") + StructureTests.files("Tools") + scripts {
            let lines = try String(contentsOf: file, encoding: .utf8).split(
                separator: "\n", omittingEmptySubsequences: false)
            #expect(lines.count <= 400, "\(file.lastPathComponent) has \(lines.count) lines")
            let begins = ["//", "--"].contains { lines.first?.hasPrefix($0) == true }
            #expect(begins, "\(file.lastPathComponent) does not begin with a comment")
        }
    }

    /// Files with code that the compiler cannot check explain why it is safe.
    @Test func unsafeCodeHasASafetyComment() throws {
        for file in try StructureTests.files("Sources") + StructureTests.files("Tools") {
            let text = try String(contentsOf: file, encoding: .utf8)
            let unsafe = ["@unchecked Sendable", "nonisolated(unsafe)", "unsafeBitCast"].contains { text.contains($0) }
            #expect(!unsafe || text.contains("// SAFETY:"), "\(file.lastPathComponent)")
        }
    }
}

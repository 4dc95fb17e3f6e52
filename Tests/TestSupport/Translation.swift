// A language with its locale and compiled catalog in a folder of its own.

import Glibc
import PermissionTestKit

package struct Translation: Sendable {
    /// The variables that select the language. The locale and the catalog exist as long as the value does.
    package let environment: [String: String]
    private let folder: TemporaryFolder?

    /// The folder of the catalogs, `po` beside `Sources`.
    private static let catalogs = #filePath.split(separator: "/").dropLast(3).map { "/\($0)" }.joined() + "/po"

    /// - Parameter language: an ISO 639 code. A language without a catalog has English texts.
    package init(_ language: String) async throws {
        guard language != "en" else {
            environment = ["LANGUAGE": "en"]
            folder = nil
            return
        }
        let folder = try TemporaryFolder([language, "\(language)/LC_MESSAGES"])
        let source = "\(Translation.catalogs)/\(language).po"
        if access(source, R_OK) == 0 {
            let target = folder.file("\(language)/LC_MESSAGES/permd.mo")
            try await Translation.run("msgfmt", ["--check", "-o", target, source])
        }
        // A minimal system has only C.UTF-8, under which nothing is translated. Under another name something is.
        let countries = ["ja": "JP", "ar": "EG"]
        let locale = "\(language)_\(countries[language] ?? language.uppercased())"
        try await Translation.run("cp", ["-r", "/usr/lib/locale/C.utf8", folder.file("\(locale).UTF-8")])
        environment = [
            "LANGUAGE": language, "LC_ALL": "\(locale).UTF-8", "LOCPATH": folder.path, "PERMD_LOCALE_DIR": folder.path,
        ]
        self.folder = folder
    }

    private static func run(_ program: String, _ arguments: [String]) async throws {
        let child = try ChildProcess(program, arguments, standardError: .null)
        guard await child.waitForExit() == .exited(0) else {
            throw TestKitError("\(program) failed: \(arguments.joined(separator: " "))")
        }
    }
}

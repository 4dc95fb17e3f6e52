// A language for programs under test: its compiled catalog and its locale.

import DBus
import Foundation
import PermissionTestKit
import Testing

enum Translation {
    /// Compiles the catalog and the locale into the folder. Returns the variables that select them.
    /// - Parameter locale: such as `de_DE`. A minimal system has only C.UTF-8, under which nothing is translated.
    @LoopActor
    static func install(_ locale: String, in folder: TemporaryFolder) async throws -> [String: String] {
        let language = String(locale.prefix(2))
        let target = folder.file("\(language)/LC_MESSAGES")
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        let catalog = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "po/\(language).po").path
        let compiler = try ChildProcess("msgfmt", ["--check", "-o", "\(target)/permd.mo", catalog])
        #expect(await compiler.waitForExit() == .exited(0))
        let maker = try ChildProcess(
            "localedef", ["--no-archive", "-i", locale, "-f", "UTF-8", folder.file("\(locale).UTF-8")],
            standardError: .null)
        #expect(await maker.waitForExit() == .exited(0))
        return [
            "LANGUAGE": language, "LC_ALL": "\(locale).UTF-8", "LOCPATH": folder.path,
            "PERMD_LOCALE_DIR": folder.path,
        ]
    }
}

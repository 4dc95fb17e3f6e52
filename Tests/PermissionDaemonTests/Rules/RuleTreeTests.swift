// Rule and settings files in real folders: a file that becomes unreadable keeps its restrictions. Missing permissions
// are only one possible reason, so this applies to root as well.

import DBus
import Glibc
import Logging
import PermissionModel
import PermissionTestKit
import System
import TestSupport
import Testing

@testable import PermissionDaemon
@testable import PolicyFiles

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct RuleTreeTests {
    nonisolated static let folder = "etc/permd/policy.d"

    /// A tree of folders and the `RuleSet` that reads it; `restart` creates a new one from what the last has saved.
    @LoopActor
    final class Bench {
        let root: TemporaryFolder
        private(set) var book: RuleSet
        private(set) var saved: [String: String] = [:]
        var isStoreWritable = true

        init(_ files: [String: String] = [:]) async throws {
            root = try TemporaryFolder([
                "etc", "etc/permd", "etc/permd/policy.d", "etc/permd/permd.conf.d", "run", "run/permd",
                "run/permd/policy.d",
            ])
            for (name, text) in files { try root.write(text, to: name) }
            book = Bench.book(root, [:])
            await follow()
        }

        private static func book(_ root: TemporaryFolder, _ saved: [String: String]) -> RuleSet {
            RuleSet(
                root: root.path, saved: saved.map { ($0.key, $0.value) }, worker: Worker(), log: quietLog)
        }

        private func follow() async {
            book.onValidTexts = { [weak self] texts, then in
                guard let self, isStoreWritable else { return then(false) }
                saved = [:]
                for (path, text) in texts { saved[path.text] = text.text }
                then(true)
            }
            await reload()
        }

        func reload() async { await withCheckedContinuation { done in book.read { done.resume() } } }

        func restart() async {
            book = Bench.book(root, saved)
            await follow()
        }

        /// Replaces a file in one step: an empty one, for a moment, would restrict nothing.
        func replace(_ name: String, _ text: String) throws {
            try root.write(text, to: "new")
            try #require(rename(root.file("new"), root.file(name)) == 0)
        }

        func path(_ name: String) -> String { root.file("\(RuleTreeTests.folder)/\(name)") }

        /// The permissions restricted for all apps, as `camera microphone …`.
        var restricted: String {
            let app = AppID("exe:/usr/bin/a")!
            return Permission.allCases.filter { book.isRestricted(app, $0) }.map(\.rawValue).sorted()
                .joined(separator: " ")
        }

        var granted: Bool { book.isGranted(AppID("exe:/usr/bin/a")!, .location) }
    }

    nonisolated static func rule(_ permissions: String, _ action: String = "restrict", name: String = "r") -> String {
        "[Rule \(name)]\nApps=*\nPermissions=\(permissions)\nAction=\(action)\n"
    }

    nonisolated static let good = rule("camera") + rule("location", "grant", name: "g")

    /// Ways in which a good file becomes unreadable, each with part of the reported reason.
    enum Break: String, CaseIterable, Sendable {
        case fifo, socket, folder, device, linkToNothing, linkToItself, linkToFifo, large, notUTF8, nul, halfWritten
        case notListed, folderIsFile, folderIsFIFO, folderLinksNowhere, folderLinksToItself, parentIsFile

        var reason: String {
            switch self {
            case .fifo, .linkToFifo: "FIFO"
            case .socket: "socket"
            case .folder: "folder"
            case .device: "device"
            case .linkToNothing, .folderLinksNowhere: "leads to nothing"
            case .linkToItself, .folderLinksToItself: "symbolic links"
            case .large: "larger than"
            case .notUTF8: "UTF-8"
            case .nul: "control character 0"
            case .halfWritten: "neither"
            case .notListed: "UTF-8"
            case .folderIsFile, .folderIsFIFO, .parentIsFile: "Not a directory"
            }
        }
    }

    private func perform(_ kind: Break, _ bench: Bench) throws {
        let path = bench.path("a.conf")
        let folder = bench.root.file(RuleTreeTests.folder)
        switch kind {
        case .large:
            try bench.replace("\(RuleTreeTests.folder)/a.conf", String(repeating: "#\n", count: 1 << 20))
        case .nul: try bench.replace("\(RuleTreeTests.folder)/a.conf", "\0")
        case .halfWritten: try bench.replace("\(RuleTreeTests.folder)/a.conf", "[Rule r")
        case .notUTF8:
            try writeBytes([0x23, 0xFF, 0x0A], bench.root.file("new"))
            try #require(rename(bench.root.file("new"), path) == 0)
        case .notListed:
            // A file name that is not UTF-8: the folder cannot be listed completely.
            close(open(Array("\(folder)/".utf8) + [0xFF] + Array(".conf".utf8)))
            try writeBytes([0x23, 0xFF, 0x0A], path)
        case .folderIsFile, .folderIsFIFO, .folderLinksNowhere, .folderLinksToItself:
            rename(folder, bench.root.file("aside"))
            switch kind {
            case .folderIsFile: close(open(Array(folder.utf8)))
            case .folderIsFIFO: mkfifo(folder, 0o600)
            case .folderLinksNowhere: symlink("/nonexistent/folder", folder)
            default: symlink("policy.d", folder)
            }
        case .parentIsFile:
            rename(bench.root.file("etc/permd"), bench.root.file("aside"))
            close(open(Array(bench.root.file("etc/permd").utf8)))
        default:
            unlink(path)
            switch kind {
            case .fifo: mkfifo(path, 0o600)
            case .socket: bindSocket(path)
            case .folder: mkdir(path, 0o700)
            case .device: symlink("/dev/zero", path)
            case .linkToNothing: symlink("/nonexistent/file", path)
            case .linkToItself: symlink("a.conf", path)
            default:
                mkfifo(bench.root.file("fifo"), 0o600)
                symlink(bench.root.file("fifo"), path)
            }
        }
    }

    private func open(_ path: [UInt8]) -> Int32 {
        (path + [0]).withUnsafeBytes {
            Glibc.open($0.bindMemory(to: CChar.self).baseAddress!, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        }
    }

    private func writeBytes(_ bytes: [UInt8], _ path: String) throws {
        let fd = open(Array(path.utf8))
        try #require(write(fd, bytes, bytes.count) == bytes.count)
        close(fd)
    }

    private func bindSocket(_ path: String) {
        let fd = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
        _ = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(fd, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        close(fd)
    }

    @Test(arguments: Break.allCases)
    func unreadableFilesKeepTheirRestrictions(_ kind: Break) async throws {
        let bench = try await Bench(["\(RuleTreeTests.folder)/a.conf": RuleTreeTests.good])
        // The broken file still overrides this file of the same name in /run.
        try bench.root.write(RuleTreeTests.rule("microphone"), to: "run/permd/policy.d/a.conf")
        await bench.reload()
        #expect(bench.restricted == "camera" && bench.granted && bench.book.problems.isEmpty)
        try perform(kind, bench)
        for _ in 0..<3 {
            // Reloads and restarts alternate: the kept restrictions must survive both.
            await bench.reload()
            #expect(bench.restricted == "camera", "\(kind)")
            #expect(!bench.granted, "\(kind)")
            let texts = bench.book.problems.map(\.message)
            #expect(texts.contains { $0.contains(kind.reason) }, "\(kind): \(texts)")
            #expect(!bench.saved.isEmpty)
            await bench.restart()
        }
    }

    /// Folders and files without read permission, which root can read nevertheless.
    @Test(arguments: [("", 0o000), ("", 0o300), ("", 0o600), ("/a.conf", 0o000)])
    func missingPermissions(_ name: String, _ mode: Int) async throws {
        let bench = try await Bench(["\(RuleTreeTests.folder)/a.conf": RuleTreeTests.good])
        let path = bench.root.file(RuleTreeTests.folder + name)
        chmod(path, mode_t(mode))
        defer { chmod(path, 0o700) }
        for _ in 0..<2 {
            await bench.reload()
            #expect(bench.restricted == "camera")
            #expect(bench.book.problems.contains { $0.message.contains("Permission denied") } == (geteuid() != 0))
            await bench.restart()
        }
    }

    /// Until the file system answers, as with any other file that cannot be read. All other files apply.
    @Test(arguments: ["", "/a.conf"])
    func aFileThatHangsKeepsItsRestrictions(_ name: String) async throws {
        let bench = try await Bench(["\(RuleTreeTests.folder)/a.conf": RuleTreeTests.good])
        try bench.root.write(RuleTreeTests.rule("microphone"), to: "run/permd/policy.d/b.conf")
        await bench.reload()
        #expect(bench.restricted == "camera microphone" && bench.granted)
        let hung = try await HungFileSystem(over: bench.root.file(RuleTreeTests.folder + name))
        await bench.reload()
        #expect(bench.restricted == "camera microphone" && !bench.granted)
        #expect(bench.book.problems.contains { $0.message.contains("the file system does not answer") })
        try await hung.end()
        await bench.reload()
        #expect(bench.restricted == "camera microphone" && bench.granted && bench.book.problems.isEmpty)
    }

    /// A file that is removed, empty or masked no longer restricts anything.
    @Test(arguments: ["gone", "folder gone", "parent gone", "empty", "masked", "emptied"])
    func removedFilesLoseTheirRestrictions(_ kind: String) async throws {
        let bench = try await Bench(["\(RuleTreeTests.folder)/a.conf": RuleTreeTests.good])
        let path = bench.path("a.conf")
        switch kind {
        case "gone": unlink(path)
        case "folder gone": rename(bench.root.file(RuleTreeTests.folder), bench.root.file("aside"))
        case "parent gone": rename(bench.root.file("etc/permd"), bench.root.file("aside"))
        case "empty": try bench.root.write("", to: "\(RuleTreeTests.folder)/a.conf")
        case "emptied": try bench.root.write("# nothing\n", to: "\(RuleTreeTests.folder)/a.conf")
        default:
            unlink(path)
            symlink("/dev/null", path)
        }
        await bench.reload()
        #expect(bench.restricted == "" && bench.book.problems.isEmpty)
        await bench.restart()
        #expect(bench.restricted == "" && bench.book.problems.isEmpty)
    }

    @Test func aRepairedFileAppliesAgain() async throws {
        let bench = try await Bench(["\(RuleTreeTests.folder)/a.conf": RuleTreeTests.good])
        try perform(.fifo, bench)
        await bench.reload()
        unlink(bench.path("a.conf"))
        try bench.root.write(RuleTreeTests.rule("bluetooth"), to: "\(RuleTreeTests.folder)/a.conf")
        await bench.reload()
        #expect(bench.restricted == "bluetooth" && bench.book.problems.isEmpty)
    }

    /// A link to a regular file elsewhere is read, and files beside a broken one still apply.
    @Test func linksToFilesAreRead() async throws {
        let bench = try await Bench()
        try bench.root.write(RuleTreeTests.rule("camera"), to: "elsewhere")
        symlink(bench.root.file("elsewhere"), bench.path("a.conf"))
        mkfifo(bench.path("b.conf"), 0o600)
        try bench.root.write(RuleTreeTests.rule("location"), to: "\(RuleTreeTests.folder)/c.conf")
        await bench.reload()
        #expect(bench.restricted == "camera location")
    }

    /// `String` considers these names and patterns equal. They stay distinct even while the files are unreadable.
    @Test func namesAndPatternsAreComparedByTheirBytes() async throws {
        let names = ["caf\u{E9}.conf", "cafe\u{301}.conf"]
        let bench = try await Bench()
        for (name, permission) in zip(names, ["camera", "location"]) {
            try bench.root.write(RuleTreeTests.rule(permission), to: "\(RuleTreeTests.folder)/\(name)")
        }
        await bench.reload()
        #expect(bench.restricted == "camera location")
        for name in names {
            unlink(bench.path(name))
            mkfifo(bench.path(name), 0o600)
        }
        await bench.reload()
        #expect(bench.restricted == "camera location")
        for name in names { unlink(bench.path(name)) }
        func write(_ app: String) throws {
            try bench.root.write(
                RuleTreeTests.rule("camera").replacing("Apps=*", with: "Apps=\(app)"),
                to: "\(RuleTreeTests.folder)/a.conf")
        }
        var changes = 0
        bench.book.onChange = { changes += 1 }
        try write("exe:/caf\u{E9}")
        await bench.reload()
        try write("exe:/cafe\u{301}")
        await bench.reload()
        #expect(changes == 2)
    }

    /// This happens when the store can be written again.
    @Test func aCopyThatCouldNotBeSavedIsSavedLater() async throws {
        let bench = try await Bench()
        bench.isStoreWritable = false
        try bench.root.write(RuleTreeTests.good, to: "\(RuleTreeTests.folder)/a.conf")
        await bench.reload()
        #expect(bench.saved.isEmpty)
        bench.isStoreWritable = true
        bench.book.saveValidTexts()
        #expect(Array(bench.saved.values) == [RuleTreeTests.good])
    }

    @Test(arguments: ["permd.conf", "permd.conf.d/a.conf"])
    func brokenSettingsFilesKeepTheirValues(_ name: String) async throws {
        let bench = try await Bench(["etc/permd/\(name)": "[Limits]\nWaitingPerApp=1\n[History]\nMaxRows=0\n"])
        try bench.root.write("[Limits]\nWaitingPerApp=10\n", to: "run/permd/permd.conf")
        for text in ["[Limits]\nWaitingPerApp=x\n", "[Limits]\nWaitingPerApp=900000\nnonsense\n"] {
            try bench.replace("etc/permd/\(name)", text)
            await bench.reload()
            await bench.restart()
            #expect(bench.book.configuration.waitingPerApp == 1 && bench.book.configuration.historyRows == 0)
            #expect(bench.book.problems.contains { $0.message.contains("what it set before stays") })
        }
        unlink(bench.root.file("etc/permd/\(name)"))
        await bench.reload()
        #expect(bench.book.configuration.waitingPerApp == 10 && bench.book.configuration.historyRows == 10_000)
    }

    /// Windows line ends and byte order marks are accepted; characters that only look like line ends are not.
    @Test func filesOfOtherEditors() throws {
        let crlf = RuleTreeTests.good.split(separator: "\n", omittingEmptySubsequences: false).joined(
            separator: "\r\n")
        for text in ["\u{FEFF}" + RuleTreeTests.good, crlf, "\u{FEFF}" + crlf] {
            let rules = try Rule.read(text, file: "/f")
            #expect(rules.map(\.line) == [1, 5] && rules.map(\.permissions) == [[.camera], [.location]])
        }
        let wrong: [(String, Int, String)] = [
            ("[Rule a]\rApps=*\r", 1, "control character 13"),
            ("[Rule a]\nApps=\u{1B}[31m\n", 2, "control character 27"),
            ("[Rule a]\nApps=*\u{2028}Action=grant\nPermissions=camera\nAction=restrict\nAction=grant\n", 5, "twice"),
            ("# a\u{85}[Rule b]\n[Rule c]\n", 2, "[Rule c]"),
        ]
        for (text, line, word) in wrong {
            do {
                _ = try Rule.read(text, file: "/f")
                Issue.record("\(text) was read")
            } catch {
                #expect(error.line == line && error.message.contains(word), "\(text): \(error)")
            }
        }
    }

    // MARK: Noticing changes

    /// Every package and configuration tool makes a folder and writes its first file at once.
    @Test func aFolderMadeWhileItsParentIsNotWatchedYet() async throws {
        let root = try TemporaryFolder(["etc"])
        let folder = root.file("etc/permd/policy.d")
        let events = EventLog<Bool>()
        let inotify = try #require(Inotify { events.add(true) })
        defer { inotify.close() }
        let problem = RuleFolders(root: root.path).watch(inotify) { path in
            let isThere = access(path, F_OK) == 0
            if path == folder, !isThere { _ = system("mkdir -p \(folder)") }
            return isThere
        }
        #expect(problem == nil)
        inotify.read { _, _, _ in }
        try root.write(RuleTreeTests.rule("camera"), to: "etc/permd/policy.d/a.conf")
        try await events.wait(for: 1)
    }

    @Test func theFolderIsReplacedByARename() async throws {
        let bench = try await Bench(["\(RuleTreeTests.folder)/a.conf": RuleTreeTests.rule("camera")])
        let changes = EventLog<String>()
        bench.book.onChange = { changes.add(bench.restricted) }
        try #require(system("mkdir -p \(bench.root.file("etc/new/policy.d"))") == 0)
        try bench.root.write(RuleTreeTests.rule("location"), to: "etc/new/policy.d/a.conf")
        try #require(rename(bench.root.file("etc/permd"), bench.root.file("etc/old")) == 0)
        try #require(rename(bench.root.file("etc/new"), bench.root.file("etc/permd")) == 0)
        try await changes.first { $0 == "location" }
        // The folder that is there now is watched.
        try bench.replace("\(RuleTreeTests.folder)/a.conf", RuleTreeTests.rule("microphone"))
        try await changes.first { $0 == "microphone" }
    }
}

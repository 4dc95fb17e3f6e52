// The desktop entry of a program outside sandboxes, which gives it a name and an icon: the one that starts it, or a program
// of its folder. What started the program does not matter.

import Glibc
import PermissionModel
import Synchronization

package enum ProgramEntries {
    private struct Entry {
        /// Of the desktop entry.
        let path: String
        /// Of the program, links followed, or of the file that it runs.
        let program: [UInt8]
        let name: String
        /// Without what stands for files.
        let argumentCount: Int
        let isHidden: Bool

        var folder: [UInt8] { ProgramEntries.folder(of: program) }
    }

    /// Which folder a path leads to, and when that was changed. All folders in the store of Nix have the same time.
    private struct Stamp: Hashable {
        let device: UInt64
        let inode: UInt64
        let seconds: Int
        let nanoseconds: Int
    }

    private struct Index {
        var stamps: [Stamp?] = []
        var entries: [Entry] = []
    }

    private static let index = Mutex(Index())

    /// Folders in which programs that have nothing to do with each other lie, besides those of `$PATH`.
    private static let sharedFolders = ["/usr/lib", "/usr/libexec", "/lib", "/opt", "/usr/games", "/tmp"]

    /// The path of the entry; nil if there is none, or several with different names. May block.
    static func path(of app: AppID) -> String? {
        guard let program = app.paths.last.map({ Array($0.utf8) }) else { return nil }
        let entries = current()
        let exact = entries.filter { $0.program == program }
        let folder = folder(of: program)
        let possible = !exact.isEmpty || isShared(folder) ? exact : entries.filter { $0.folder == folder }
        let shown = possible.filter { !$0.isHidden }
        let best = shown.isEmpty ? possible : shown
        let fewest = best.map(\.argumentCount).min()
        let found = best.filter { $0.argumentCount == fewest }
        return Set(found.map(\.name)).count == 1 ? found[0].path : nil
    }

    private static func folder(of path: [UInt8]) -> [UInt8] {
        Array(path[..<(path.lastIndex(of: UInt8(ascii: "/")) ?? path.startIndex)])
    }

    private static func isShared(_ folder: [UInt8]) -> Bool {
        let text = String(decoding: folder, as: UTF8.self)
        // As ~/Applications, ~/Downloads and ~/bin.
        let parent = String(decoding: self.folder(of: folder), as: UTF8.self)
        return (sharedFolders + searchPath + [Folders.home, ""]).contains(text) || parent == Folders.home
            || text.hasPrefix("/usr/lib/") && text.hasSuffix("-linux-gnu")
    }

    private static var searchPath: [String] {
        (Folders.variable("PATH") ?? "/usr/local/bin:/usr/bin:/bin").split(separator: ":").map(String.init)
    }

    // MARK: The index

    /// Read again when a folder has changed. A file that is changed in its place is noticed with the next of these.
    private static func current() -> [Entry] {
        let folders = AppDirectory.folders(of: .exe)
        let stamps = folders.map(stamp)
        if let entries = index.withLock({ $0.stamps == stamps ? $0.entries : nil }) { return entries }
        let entries = read(folders)
        index.withLock { $0 = Index(stamps: stamps, entries: entries) }
        return entries
    }

    private static func stamp(_ folder: String) -> Stamp? {
        var status = stat()
        guard stat(folder, &status) == 0 else { return nil }
        return Stamp(
            device: UInt64(status.st_dev), inode: UInt64(status.st_ino), seconds: status.st_mtim.tv_sec,
            nanoseconds: status.st_mtim.tv_nsec)
    }

    /// An entry replaces those of its name in later folders.
    private static func read(_ folders: [String]) -> [Entry] {
        var seen: Set<String> = []
        return folders.flatMap { folder in
            Folders.names(in: folder).filter { $0.hasSuffix(".desktop") && seen.insert($0).inserted }
                .compactMap { entry("\(folder)/\($0)") }
        }
    }

    private static func entry(_ path: String) -> Entry? {
        guard let file = KeyFile(path: path) else { return nil }
        func value(_ key: String) -> String { file.string(key, in: "Desktop Entry") ?? "" }
        guard let (path: program, arguments) = program(of: value("Exec")) else { return nil }
        let words = [program] + arguments.filter { $0.first != "%" }.map { Array($0.utf8) }
        // Of a runtime, it is about the file that this runs.
        let runtime = words.count > 1 ? Runtime(executable: program) : nil
        guard let named = runtime.map({ $0.file(in: words) }) ?? program else { return nil }
        let isHidden = value("Hidden") == "true" || value("NoDisplay") == "true"
        return Entry(
            path: path, program: StorePath.withoutVersion(named), name: value("Name"),
            argumentCount: words.count - 1, isHidden: isHidden)
    }

    /// The executable that an `Exec` starts, and its arguments; nil if there is none. May block.
    package static func program(of command: String) -> (path: [UInt8], arguments: [String])? {
        // env(1) starts what follows its variables.
        let words = commandWords(command).drop { $0 == "env" || $0 == "/usr/bin/env" || $0.contains("=") }
        return words.first.flatMap(executable).map { ($0, Array(words.dropFirst())) }
    }

    /// The executable of that path, or of that name in `$PATH`, links followed; nil if there is none. May block.
    package static func executable(_ name: String) -> [UInt8]? {
        let paths = name.hasPrefix("/") ? [name] : searchPath.map { "\($0)/\(name)" }
        return paths.first(where: { access($0, X_OK) == 0 }).flatMap { Folders.realPath($0) }
    }

    /// The words of a command as the Desktop Entry Specification quotes them.
    static func commandWords(_ command: String) -> [String] {
        var words: [String] = []
        var (word, isQuoted, isWord) = ("", false, false)
        var rest = command[...]
        while let character = rest.popFirst() {
            switch character {
            case "\"": (isQuoted, isWord) = (!isQuoted, true)
            case "\\" where isQuoted: word.append(rest.popFirst() ?? "\\")
            case " " where !isQuoted:
                if isWord { words.append(word) }
                (word, isWord) = ("", false)
            default:
                word.append(character)
                isWord = true
            }
        }
        return isWord ? words + [word] : words
    }
}

// Finds the files that apply, in name order: a file replaces those of its name in lower folders.

import CLinux
import Glibc
package import PermissionModel
package import System

/// The names in a folder.
package struct FolderListing: Sendable {
    package let folder: String
    package var names: [String] = []
    /// Why the folder could not be listed completely.
    package var failure: RegularFile.Failure?
}

/// The files that are there.
package struct ListedFiles {
    /// The files that apply, in order.
    package var rules: [String] = []
    /// The configuration file in the highest folder that has one, then the drop-ins.
    package var configuration: [String] = []
    package var unreadable: [(folder: String, failure: RegularFile.Failure)] = []
    /// All existing files, including those that are replaced.
    package var present: Set<ExactText> = []
}

package struct RuleFolders: Sendable {
    /// The maximum size of a file. The rules of a whole distribution are a few KiB; more is a mistake.
    private static let maximumFile = 1 << 20

    /// Highest priority first.
    private let bases: [String]

    /// The name of the configuration file. That of its folder of drop-in files has `.d` at the end.
    private let configuration: String

    /// - Parameters:
    ///   - root: The folder that takes the place of `/`.
    ///   - configuration: The name of the configuration file.
    package init(root: String, configuration: String = "permd.conf") {
        self.configuration = configuration
        let prefix = root == "/" ? "" : root
        bases = ["/etc", "/run", "/usr/lib"].map { prefix + $0 + "/permd" }
    }

    private var folders: [String] { bases.flatMap { [$0, $0 + "/policy.d", "\($0)/\(configuration).d"] } }

    /// Whether permd reads files of that name in a folder of drop-in files.
    static func isRead(_ name: String) -> Bool { name.hasSuffix(".conf") && !name.hasPrefix(".") }

    /// Whether it is a folder of drop-in files, by its name.
    static func isDropIn(_ path: String) -> Bool {
        ["policy.d", "permd.conf.d", "guard.conf.d"].contains(path.split(separator: "/").last ?? "")
    }

    // MARK: What may block

    /// Reads the text of a file.
    package static func read(_ path: String) -> Result<String, RegularFile.Failure> {
        Result { () throws(RegularFile.Failure) in
            let bytes = try RegularFile.read(path, maximum: maximumFile)
            guard let text = String(validating: bytes, as: UTF8.self) else {
                throw RegularFile.Failure("the file is not UTF-8")
            }
            return text
        }
    }

    static func text(_ path: String) throws(FileProblem) -> String { try read(path).mapError(FileProblem.init).get() }

    package func listings() -> [FolderListing] { folders.map(FolderListing.init(reading:)) }

    /// Watches the folders; for each that does not exist, its nearest existing parent. Returns the first problem.
    ///
    /// A folder may be made before its parent is watched, and nobody would hear of it. So it is looked for again, until
    /// every folder that exists is watched.
    package func watch(
        _ inotify: Inotify, exists: (String) -> Bool = { access($0, F_OK) == 0 }
    ) -> RuleProblem? {
        var watched: Set<String> = []
        var problem: RuleProblem?
        while true {
            let found = Set(folders.map { RuleFolders.nearest($0, exists) }).subtracting(watched)
            if found.isEmpty { return problem }
            for folder in found.sorted() where inotify.watch(folder, RuleFolders.events) < 0 && problem == nil {
                problem = RuleProblem(unwatched: folder, Inotify.reason(errno))
            }
            watched.formUnion(found)
        }
    }

    private static let events = UInt32(
        IN_CREATE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_CLOSE_WRITE | IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB
            | IN_ONLYDIR)

    /// The folder, or the nearest of its parents that exists.
    private static func nearest(_ wanted: String, _ exists: (String) -> Bool) -> String {
        var folder = wanted
        while !exists(folder), let slash = folder.lastIndex(of: "/"), slash != folder.startIndex {
            folder = String(folder[..<slash])
        }
        return folder
    }

    // MARK: What follows from that

    /// - Parameters:
    ///   - listings: Nil if the folders do not answer.
    ///   - known: Paths of files that were valid once. They stay while their folder cannot be listed.
    package func files(_ listings: [FolderListing]?, known: Set<ExactText>) -> ListedFiles {
        var files = ListedFiles()
        var (rules, configuration): ([ExactText: String], [ExactText: String]) = ([:], [:])
        for listing in listings ?? folders.map({ FolderListing(folder: $0, failure: .unanswered) }) {
            var names = listing.names
            if let failure = listing.failure {
                files.unreadable.append((listing.folder, failure))
                names += RuleFolders.names(of: known, in: listing.folder)
            }
            let isBase = bases.contains(listing.folder)
            for name in names {
                let path = "\(listing.folder)/\(name)"
                let isFirst = isBase && files.configuration.isEmpty
                guard isBase ? name == self.configuration && isFirst : RuleFolders.isRead(name) else { continue }
                files.present.insert(ExactText(path))
                if isBase {
                    files.configuration = [path]
                } else if listing.folder.hasSuffix("/policy.d") {
                    rules[ExactText(name)] = rules[ExactText(name)] ?? path
                } else {
                    configuration[ExactText(name)] = configuration[ExactText(name)] ?? path
                }
            }
        }
        files.rules = rules.sorted { $0.key < $1.key }.map(\.value)
        files.configuration += configuration.sorted { $0.key < $1.key }.map(\.value)
        return files
    }

    private static func names(of paths: Set<ExactText>, in folder: String) -> [String] {
        let prefix = Array("\(folder)/".utf8)
        return paths.filter { $0.text.utf8.starts(with: prefix) }
            .map { String(decoding: $0.text.utf8.dropFirst(prefix.count), as: UTF8.self) }
    }
}

extension FileProblem {
    init(_ failure: RegularFile.Failure) { self.init(line: 0, message: failure.reason) }
}

extension FolderListing {
    /// A folder that does not exist counts as empty; a broken link is a failure.
    init(reading folder: String) {
        self.init(folder: folder)
        guard let directory = opendir(folder) else {
            let failure = RegularFile.Failure(system: errno, at: folder)
            if !failure.isAbsent { self.failure = failure }
            return
        }
        defer { closedir(directory) }
        while true {
            errno = 0
            guard let entry = readdir(directory) else { break }
            let bytes = withUnsafeBytes(of: &entry.pointee.d_name) { Array($0.prefix { $0 != 0 }) }
            if let name = String(validating: bytes, as: UTF8.self) {
                names.append(name)
            } else {
                failure = RegularFile.Failure("a file name in it is not UTF-8")
            }
        }
        if errno != 0 { failure = RegularFile.Failure(system: errno, at: folder) }
    }
}

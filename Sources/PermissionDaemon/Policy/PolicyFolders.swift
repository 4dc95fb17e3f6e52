// Finds the files that apply, in name order: a file replaces those of its name in lower folders.

import Glibc
import PermissionModel
import System

struct FoundFile {
    let path: String
    let content: Result<[UInt8], RegularFile.Failure>
}

/// The result of one scan.
struct FoundFiles {
    /// The files that apply, in order.
    var files: [FoundFile] = []
    /// Folders that could not be listed completely. Their known files count as files with an error.
    var unreadable: [(path: String, failure: RegularFile.Failure)] = []
    /// All existing files, including those that are replaced.
    var present: Set<ExactText> = []
}

struct PolicyFolders {
    /// The maximum size of a file. The rules of a whole distribution are a few KiB; more is a mistake.
    private static let maximumFile = 1 << 20
    /// A file that vanishes between listing and reading makes a scan wrong; one that keeps vanishing is an error.
    private static let maximumLooks = 3

    /// Highest priority first.
    private let bases: [String]

    init(root: String) {
        let prefix = root == "/" ? "" : root
        bases = ["/etc", "/run", "/usr/lib"].map { prefix + $0 + "/permd" }
    }

    /// - Parameter known: paths of files that were valid once. They are looked up if their folder cannot be listed.
    func rules(known: Set<ExactText>) -> FoundFiles {
        look { dropIns("policy.d", known, &$0) }
    }

    /// `permd.conf` of the highest folder that has one, then the drop-ins.
    func settings(known: Set<ExactText>) -> FoundFiles {
        look { found in
            for base in bases {
                let file = read(base + "/permd.conf")
                guard !file.isAbsent else { continue }
                found.present.insert(ExactText(file.path))
                found.files.append(file)
                break
            }
            dropIns("permd.conf.d", known, &found)
        }
    }

    /// The folders to watch; for each that does not exist, its nearest existing parent.
    func watched() -> Set<String> {
        var folders: Set<String> = []
        for base in bases {
            for wanted in [base, base + "/policy.d", base + "/permd.conf.d"] {
                var folder = wanted
                while access(folder, F_OK) != 0, let slash = folder.lastIndex(of: "/"), slash != folder.startIndex {
                    folder = String(folder[..<slash])
                }
                folders.insert(folder)
            }
        }
        return folders
    }

    /// Scans again if the list was outdated when the files were read.
    private func look(_ body: (inout FoundFiles) -> Void) -> FoundFiles {
        var found = FoundFiles()
        for _ in 1...PolicyFolders.maximumLooks {
            found = FoundFiles()
            body(&found)
            if !found.files.contains(where: \.isAbsent) { break }
        }
        return found
    }

    private func dropIns(_ name: String, _ known: Set<ExactText>, _ found: inout FoundFiles) {
        var paths: [ExactText: String] = [:]
        for base in bases {
            let folder = "\(base)/\(name)"
            let listing = Listing(folder)
            var names = listing.names.filter { $0.hasSuffix(".conf") && !$0.hasPrefix(".") }
            if let failure = listing.failure {
                found.unreadable.append((folder, failure))
                names += PolicyFolders.names(of: known, in: folder, beside: names)
            }
            for name in names {
                found.present.insert(ExactText("\(folder)/\(name)"))
                if paths[ExactText(name)] == nil { paths[ExactText(name)] = "\(folder)/\(name)" }
            }
        }
        found.files += paths.sorted { $0.key < $1.key }.map { read($0.value) }
    }

    /// The known files of a folder, except those that certainly no longer exist.
    private static func names(of known: Set<ExactText>, in folder: String, beside listed: [String]) -> [String] {
        // Below a broken link, every file seems not to exist.
        let isThere = access(folder, F_OK) == 0
        let prefix = Array("\(folder)/".utf8)
        let listed = Set(listed.map { ExactText($0) })
        let names = known.map(\.text).filter { $0.utf8.starts(with: prefix) && !(isThere && RegularFile.isAbsent($0)) }
            .map { String(decoding: $0.utf8.dropFirst(prefix.count), as: UTF8.self) }
        return names.filter { !listed.contains(ExactText($0)) }
    }

    private func read(_ path: String) -> FoundFile {
        let content = Result { () throws(RegularFile.Failure) in
            try RegularFile.read(path, maximum: PolicyFolders.maximumFile)
        }
        return FoundFile(path: path, content: content)
    }
}

extension FoundFile {
    fileprivate var isAbsent: Bool {
        if case .failure(let failure) = content { failure.isAbsent } else { false }
    }
}

/// The names in a folder. A folder that does not exist counts as empty; a broken link is a failure.
private struct Listing {
    var names: [String] = []
    var failure: RegularFile.Failure?

    init(_ folder: String) {
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

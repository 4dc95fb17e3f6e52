// Which files count: drop-ins of three folders, read in name order, a file higher up replacing one of the same name.

import Glibc

/// A file as found on disk.
struct FoundFile {
    let path: String
    /// Nil when it cannot be read; then `problem` says why.
    let text: String?
    let problem: String?
}

struct PolicyFolders {
    /// Rules of a whole distribution are a few KiB; more is a mistake.
    private static let maximumFile = 1 << 20

    /// Highest first.
    private let bases: [String]

    init(root: String) {
        let prefix = root == "/" ? "" : root
        bases = ["/etc", "/run", "/usr/lib"].map { prefix + $0 + "/permd" }
    }

    func rules() -> [FoundFile] { dropIns("policy.d") }

    /// `permd.conf` of the highest folder that has one, then the drop-ins.
    func settings() -> [FoundFile] {
        let main = bases.map { $0 + "/permd.conf" }.first { access($0, F_OK) == 0 }
        return (main.map { [read($0)] } ?? []) + dropIns("permd.conf.d")
    }

    /// Folders to watch, with the nearest that is there for each that is not.
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

    private func dropIns(_ name: String) -> [FoundFile] {
        var paths: [String: String] = [:]
        var broken: [FoundFile] = []
        for base in bases {
            let folder = "\(base)/\(name)"
            guard let entries = list(folder) else {
                if errno != ENOENT, errno != ENOTDIR {
                    broken.append(FoundFile(path: folder, text: nil, problem: String(cString: strerror(errno))))
                }
                continue
            }
            for entry in entries where entry.hasSuffix(".conf") && !entry.hasPrefix(".") && paths[entry] == nil {
                paths[entry] = "\(folder)/\(entry)"
            }
        }
        return broken + paths.sorted { $0.key < $1.key }.map { read($0.value) }
    }

    private func list(_ folder: String) -> [String]? {
        guard let directory = opendir(folder) else { return nil }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            names.append(
                withUnsafeBytes(of: &entry.pointee.d_name) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) })
        }
        return names
    }

    private func read(_ path: String) -> FoundFile {
        let fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard fd >= 0 else { return FoundFile(path: path, text: nil, problem: String(cString: strerror(errno))) }
        defer { close(fd) }
        var content: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        while true {
            let count = Glibc.read(fd, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { return FoundFile(path: path, text: nil, problem: String(cString: strerror(errno))) }
            if count == 0 { break }
            content += buffer.prefix(count)
            guard content.count <= PolicyFolders.maximumFile else {
                return FoundFile(
                    path: path, text: nil, problem: "the file is larger than \(PolicyFolders.maximumFile >> 20) MiB")
            }
        }
        guard let text = String(validating: content, as: UTF8.self) else {
            return FoundFile(path: path, text: nil, problem: "the file is not UTF-8")
        }
        return FoundFile(path: path, text: text, problem: nil)
    }
}

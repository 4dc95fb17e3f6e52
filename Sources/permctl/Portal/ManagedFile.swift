// A configuration file of the user, to which permctl adds a block of lines that can be removed exactly.

import CLinux
import Glibc
import System

/// The block is at the end of the file: of two lines with the same key in the same group, the last one counts, in key
/// files as in units. Everything else stays as it is, byte by byte.
struct ManagedFile {
    let path: String

    private static let begin = "\n# permctl portal: begin"
    private static let end = "# permctl portal: end\n"
    private static let created = " (new file)"
    private static let newline = UInt8(ascii: "\n")
    static let maximumRead = 1 << 20

    /// Whether permctl has added a block.
    var hasBlock: Bool { (try? parts().hasBlock) == true }

    /// The file as it would be without the block; nil if there would be none.
    func original() throws(Failure) -> [UInt8]? { try parts().original }

    /// The file as it would be with these lines in its block.
    private func content(with lines: String) throws(Failure) -> [UInt8] {
        let original = try original()
        let mark = ManagedFile.begin + (original == nil ? ManagedFile.created : "")
        let block = "\(mark). permctl portal disable removes these lines.\n\(lines)\n\(ManagedFile.end)"
        return (original ?? []) + Array(block.utf8)
    }

    /// Whether the block has these lines.
    func hasBlock(_ lines: String) throws(Failure) -> Bool { try read() == content(with: lines) }

    func addBlock(_ lines: String) throws(Failure) { try write(try content(with: lines)) }

    /// Returns what was done; nil if there is no block.
    func removeBlock() throws(Failure) -> TerminalText? {
        let (original, hasBlock) = try parts()
        guard hasBlock else { return nil }
        if let original {
            try write(original)
            return "restored \(path)"
        }
        guard unlink(path) == 0 else { throw refusal("cannot be removed: \(errorText())") }
        rmdir(folder)
        return "removed \(path)"
    }

    private func parts() throws(Failure) -> (original: [UInt8]?, hasBlock: Bool) {
        guard let content = try read(), let start = content.firstRange(of: ManagedFile.begin.utf8)?.lowerBound,
            let end = content[start...].firstRange(of: ManagedFile.end.utf8)?.upperBound
        else { return (try read(), false) }
        let (before, after) = (content[..<start], content[end...])
        let rest = before + (before.isEmpty || after.isEmpty ? [] : [ManagedFile.newline]) + after
        let isCreated = content[start...].starts(with: (ManagedFile.begin + ManagedFile.created).utf8)
        return (rest.isEmpty && isCreated ? nil : Array(rest), true)
    }

    // MARK: The file

    private var folder: String { path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } }

    private func refusal(_ what: String) -> Failure { Failure(.no, "\(path) \(what); nothing was changed") }

    /// Returns the content; nil if there is no such file.
    private func read() throws(Failure) -> [UInt8]? {
        guard let status = FileStatus(path) else { return nil }
        guard status.kind != S_IFLNK else {
            throw refusal("is a symbolic link; permctl does not change what it points to")
        }
        guard status.kind == S_IFREG else { throw refusal("is no regular file") }
        do throws(RegularFile.Failure) { return try RegularFile.read(path, maximum: ManagedFile.maximumRead) } catch {
            throw refusal("cannot be read: \(error.reason)")
        }
    }

    /// Replaces the content in one step: another program sees the old content or the new one. Creates the folder.
    private func write(_ content: [UInt8]) throws(Failure) {
        ManagedFile.makeFolder(folder)
        let mode = FileStatus(path)?.mode ?? 0o644
        let temporary = "\(path).permctl-\(getpid())"
        let fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        defer { if fd >= 0 { close(fd) } }
        guard fd >= 0, Glibc.write(fd, content, content.count) == content.count, fchmod(fd, mode) == 0, fsync(fd) == 0,
            rename(temporary, path) == 0
        else {
            let problem = errorText()
            unlink(temporary)
            throw refusal("cannot be written: \(problem)")
        }
    }

    /// Makes a folder and those above it; whether that succeeds shows when a file in it is opened.
    static func makeFolder(_ path: String) {
        var made = ""
        for part in path.split(separator: "/") {
            made += "/\(part)"
            mkdir(made, 0o755)
        }
    }
}

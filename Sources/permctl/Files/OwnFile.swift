// A configuration file of the user that permctl changes: nothing is lost if that fails or is interrupted.

import Glibc

struct OwnFile {
    let path: String

    private var folder: String { path.split(separator: "/").dropLast().reduce("") { "\($0)/\($1)" } }

    /// Returns the content; nil if there is no such file.
    /// - Throws: ``Failure`` if it is no regular file or cannot be read.
    func read() throws(Failure) -> [UInt8]? {
        let fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
        guard fd >= 0 else {
            switch errno {
            case ENOENT: return nil
            case ELOOP: throw refusal("is a symbolic link; permctl does not change what it points to")
            case let number: throw refusal("cannot be read: \(String(cString: strerror(number)))")
            }
        }
        defer { close(fd) }
        var status = stat()
        guard fstat(fd, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { throw refusal("is no regular file") }
        do throws(WholeFile.Problem) { return Array(try WholeFile.read(fd)) } catch {
            throw refusal("cannot be read: \(error.text)")
        }
    }

    /// Replaces the content in one step: another program sees the old content or the new one. Creates the folder.
    func write(_ content: [UInt8]) throws(Failure) {
        do throws(WholeFile.Problem) {
            try OwnFile.makeFolder(folder)
            try replace(content)
        } catch {
            throw refusal("cannot be written: \(error.text)")
        }
    }

    /// Removes the file, and its folder if that is empty then.
    func remove() throws(Failure) {
        guard unlink(path) == 0 || errno == ENOENT else {
            throw refusal("cannot be removed: \(String(cString: strerror(errno)))")
        }
        rmdir(folder)
    }

    private func refusal(_ what: String) -> Failure { Failure(.no, "\(path) \(what); nothing was changed") }

    private func replace(_ content: [UInt8]) throws(WholeFile.Problem) {
        var old = stat()
        let mode = lstat(path, &old) == 0 ? old.st_mode & 0o7777 : 0o644
        let temporary = "\(path).permctl-\(getpid())"
        let fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard fd >= 0 else { throw WholeFile.Problem(errno) }
        defer { close(fd) }
        var rest = content[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(fd, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw givenUp(temporary) }
            rest = rest.dropFirst(count)
        }
        guard fchmod(fd, mode) == 0, fsync(fd) == 0, rename(temporary, path) == 0 else { throw givenUp(temporary) }
        let directory = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if directory >= 0 {
            fsync(directory)
            close(directory)
        }
    }

    private func givenUp(_ temporary: String) -> WholeFile.Problem {
        let problem = WholeFile.Problem(errno)
        unlink(temporary)
        return problem
    }

    private static func makeFolder(_ path: String) throws(WholeFile.Problem) {
        var made = ""
        for part in path.split(separator: "/") {
            made += "/\(part)"
            guard mkdir(made, 0o755) == 0 || errno == EEXIST || access(made, F_OK) == 0 else {
                throw WholeFile.Problem(errno)
            }
        }
    }
}

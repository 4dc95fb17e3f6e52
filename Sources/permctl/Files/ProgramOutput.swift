// Runs a program, and returns what it prints.

import Glibc

struct ProgramOutput {
    /// Standard output and standard error.
    let text: String
    let isSuccess: Bool

    /// Milliseconds after which a program that does not end is killed.
    private static let patience: Int32 = 20_000

    /// Runs a program without a shell; one without a slash is looked up in `$PATH`.
    /// - Throws: ``WholeFile/Problem`` if it cannot be started or does not end.
    static func of(_ command: [String]) throws(WholeFile.Problem) -> ProgramOutput {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw WholeFile.Problem(errno) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        defer { close(ends[0]) }
        let child = spawn(command, output: ends[1])
        close(ends[1])
        guard child.error == 0 else { throw WholeFile.Problem(child.error) }
        let text = read(ends[0])
        if text == nil { kill(child.pid, SIGKILL) }
        var status: Int32 = 0
        while waitpid(child.pid, &status, 0) < 0, errno == EINTR {}
        guard let text else { throw WholeFile.Problem("it did not end within \(patience / 1000) seconds") }
        return ProgramOutput(text: text, isSuccess: status == 0)
    }

    // SAFETY: the arrays end with nil, as execve(2) requires, and every string is freed once after the last use.
    private static func spawn(_ command: [String], output: Int32) -> (pid: pid_t, error: Int32) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO)
        let arguments: [UnsafeMutablePointer<CChar>?] = command.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var pid: pid_t = 0
        let error = posix_spawnp(&pid, command[0], &actions, nil, arguments, environ)
        return (pid, error)
    }

    /// Reads to the end; nil if nothing comes for too long.
    private static func read(_ fd: Int32) -> String? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            var polled = pollfd(fd: fd, events: Int16(POLLIN), revents: 0)
            let ready = poll(&polled, 1, patience)
            if ready < 0, errno == EINTR { continue }
            guard ready > 0 else { return nil }
            let count = Glibc.read(fd, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }
}

// The file actions and attributes with which a child process is started (posix_spawn(3)).

import DBus
import Glibc

final class SpawnPlan {
    private var actions = posix_spawn_file_actions_t()
    private var attributes = posix_spawnattr_t()
    /// The child's ends, closed in this process once the child runs.
    private var childEnds: [UnixFD] = []

    init() {
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        // The loop's thread blocks signals, and the test host may ignore some; the child must inherit neither.
        var none = sigset_t()
        sigemptyset(&none)
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setsigdefault(&attributes, &all)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
    }

    deinit {
        posix_spawn_file_actions_destroy(&actions)
        posix_spawnattr_destroy(&attributes)
    }

    /// Returns the parent's end if the stream is a pipe.
    func add(_ stream: ChildProcess.Stream, as number: Int32) throws(TestKitError) -> UnixFD? {
        switch stream {
        case .inherit: break
        case .null: posix_spawn_file_actions_addopen(&actions, number, "/dev/null", O_RDWR, 0)
        case .file(let path):
            let flags = number == 0 ? O_RDONLY : O_WRONLY | O_CREAT | O_TRUNC
            posix_spawn_file_actions_addopen(&actions, number, path, flags, 0o600)
        case .descriptor(let ours): pass(ours, as: number)
        case .pipe: return try addPipe(number)
        }
        return nil
    }

    private func pass(_ ours: Int32, as number: Int32) {
        posix_spawn_file_actions_adddup2(&actions, ours, number)
    }

    /// Uses a socket pair: it is close-on-exec from the start, and writing to an exited child fails instead of raising
    /// SIGPIPE.
    private func addPipe(_ number: Int32) throws(TestKitError) -> UnixFD {
        var ends: [Int32] = [-1, -1]
        let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else { throw .system("cannot create a pipe", errno) }
        childEnds.append(UnixFD(owning: ends[1]))
        pass(ends[1], as: number)
        if number != 0 { _ = fcntl(ends[0], F_SETFL, O_NONBLOCK) }
        return UnixFD(owning: ends[0])
    }

    /// The variables that children inherit: the search path, and options of the sanitizers and of Swift's backtraces.
    private static let shared = [
        "PATH", "ASAN_OPTIONS", "LSAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS", "SWIFT_BACKTRACE",
    ]

    func spawn(
        _ executable: String, _ arguments: [String], _ environment: [String: String]
    ) throws(TestKitError) -> Int32 {
        var environment = environment
        for name in SpawnPlan.shared where environment[name] == nil {
            if let value = getenv(name) { environment[name] = String(cString: value) }
        }
        var argv = ([executable] + arguments).map { strdup($0) } + [nil]
        var envp = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in argv + envp { free(text) } }
        var pid: Int32 = 0
        let failure = posix_spawnp(&pid, executable, &actions, &attributes, &argv, &envp)
        childEnds = []
        guard failure == 0 else { throw .system("cannot start \(executable)", failure) }
        return pid
    }
}

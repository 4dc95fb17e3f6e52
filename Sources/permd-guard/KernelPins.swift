// Where the BPF programs and their maps are pinned, so that they outlive this process: nothing passes while it is
// restarted or upgraded.

import Glibc
import System

enum KernelPins {
    static let fileSystem = "/sys/fs/bpf"
    static let folder = "\(fileSystem)/permd-guard"

    static func path(_ name: String) -> String { "\(folder)/\(name)" }

    static func make() throws(KernelProblem) {
        guard mkdir(folder, 0o700) == 0 || errno == EEXIST else {
            throw KernelProblem("\(folder) cannot be made: \(errorText())", standsAside: false)
        }
    }

    /// Takes everything out of the kernel. Returns the exit status.
    static func remove() -> Int32 {
        if let problem = removeFiles() {
            writeError("permd-guard: \(problem)\n")
            return ExitStatus.osError
        }
        guard rmdir(folder) == 0 || errno == ENOENT else {
            writeError("permd-guard: \(folder) cannot be removed: \(errorText())\n")
            return ExitStatus.osError
        }
        return 0
    }

    /// Returns what went wrong.
    static func removeFiles() -> String? {
        for name in Folders.names(in: folder) where unlink(path(name)) != 0 && errno != ENOENT {
            return "\(path(name)) cannot be removed: \(errorText())"
        }
        return nil
    }
}

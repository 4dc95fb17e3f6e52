// Running commands as root: directly if the tests run as root, otherwise through sudo.

import Glibc

package enum Superuser {
    /// The prefix of a command that requires root. The command keeps its environment, except for `PATH` and `LD_*`.
    package static let command = geteuid() == 0 ? [] : ["sudo", "--non-interactive", "--preserve-env"]

    /// The prefix of a program started by such a command, which makes it run as the user of the tests.
    package static let back: [String] = {
        guard geteuid() != 0 else { return [] }
        var groups = [gid_t](repeating: 0, count: max(1, Int(getgroups(0, nil))))
        let count = max(0, Int(getgroups(Int32(groups.count), &groups)))
        let names = ([getegid()] + groups.prefix(count)).map(String.init).joined(separator: ",")
        return ["setpriv", "--reuid=\(geteuid())", "--regid=\(getegid())", "--groups=\(names)"]
    }()

    /// Returns the prefix of a program that runs without these capabilities of root (`sys_nice`). Other users have none.
    package static func without(_ capabilities: String...) -> [String] {
        geteuid() == 0 ? ["setpriv", "--bounding-set", capabilities.map { "-\($0)" }.joined(separator: ",")] : []
    }

    /// Returns the prefix of a program that runs in its own mount namespace, which root has set up with a shell script.
    ///
    /// - Parameter words: The arguments of the script, from `$1`.
    package static func mountNamespace(_ script: String, _ words: [String] = []) -> [String] {
        let shift = words.isEmpty ? "" : "shift \(words.count)\n"
        return command + ["unshare", "--mount", "sh", "-ec", "\(script)\n\(shift)exec \"$@\"", "sh"] + words + back
    }
}

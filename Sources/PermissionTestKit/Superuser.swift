// What takes root: done directly by root, and by sudo where the tests run as an ordinary user.

import Glibc

public enum Superuser {
    /// Before a command that takes root. The command has the environment it is started with, but for `PATH` and `LD_*`.
    public static let command = geteuid() == 0 ? [] : ["sudo", "--non-interactive", "--preserve-env"]

    /// Before a program that such a command starts: it runs as the user the tests run as.
    public static let back: [String] = {
        guard geteuid() != 0 else { return [] }
        var groups = [gid_t](repeating: 0, count: max(1, Int(getgroups(0, nil))))
        let count = max(0, Int(getgroups(Int32(groups.count), &groups)))
        let names = ([getegid()] + groups.prefix(count)).map(String.init).joined(separator: ",")
        return ["setpriv", "--reuid=\(geteuid())", "--regid=\(getegid())", "--groups=\(names)"]
    }()

    /// Before a program: it runs in a mount namespace of its own, which root has set up by a shell script.
    ///
    /// - Parameter words: `$1` and so on of the script.
    public static func mountNamespace(_ script: String, _ words: [String] = []) -> [String] {
        let shift = words.isEmpty ? "" : "shift \(words.count)\n"
        return command + ["unshare", "--mount", "sh", "-ec", "\(script)\n\(shift)exec \"$@\"", "sh"] + words + back
    }
}

// Sees to it that nothing outlives the test program: what it started, and what that started in turn.

import DBus
import Glibc

/// A shell beside the test program. Once that has ended, however it did, the shell kills every process that has the mark in
/// its environment, as all have that tests start, and their heirs; by sudo as well if tests have used it.
enum Warden {
    /// In the environment of all that tests start; its value is this program's alone.
    static let mark = (name: "PERMD_TEST_PROGRAM", value: "\(getpid())-\(UInt64.random(in: 1...UInt64.max))")

    /// Has to be there before anything else is started.
    static func begin() { _ = input }

    /// From now on some of the processes may be root's.
    static func expectRoot() { _ = rootIsExpected }

    private static let rootIsExpected: Void = {
        if let input { _ = send(input.raw, "root\n", 5, Int32(MSG_NOSIGNAL)) }
    }()

    /// The shell's standard input: it ends with this program.
    private static let input: UnixFD? = {
        let plan = SpawnPlan()
        do throws(TestKitError) {
            let input = try plan.add(.pipe, as: 0)
            // Whoever reads the output of the tests waits for its end.
            for number: Int32 in [1, 2] { _ = try plan.add(.null, as: number) }
            // In a session of its own, out of reach of what is sent to our process group or terminal.
            let words = ["sh", "-c", script, "sh", "\(mark.name)=\(mark.value)", kill]
            _ = try plan.spawn("setsid", words, [:])
            return input
        } catch {
            return nil
        }
    }()

    private static let script = """
        as=
        while read -r word; do as="sudo --non-interactive"; done
        sh -c "$2" sh "$1"
        [ -z "$as" ] || exec $as sh -c "$2" sh "$1"
        """

    /// A process that is being killed may have started another, so it looks until there is none; in the end it gives up.
    private static let kill = """
        for round in 1 2 3 4 5 6 7 8 9 10; do
            found=$(grep -lszxF "$1" /proc/[0-9]*/environ | cut -d/ -f3)
            [ -n "$found" ] && kill -KILL $found || exit 0
        done
        """
}

// Ensures that no process started by the tests, directly or indirectly, outlives the test program.

import DBus
import Glibc

/// A shell next to the test program. When the test program ends, for whatever reason, the shell kills every process
/// that has the mark in its environment, which all processes started by tests inherit; through sudo as well if the
/// tests have used it.
enum Warden {
    /// The environment variable of all processes started by tests, with a value unique to this test program.
    static let mark = (name: "PERMD_TEST_PROGRAM", value: "\(getpid())-\(UInt64.random(in: 1...UInt64.max))")

    /// Must be called before any other process is started.
    static func begin() { _ = input }

    /// Declares that some of the processes may run as root.
    static func expectRoot() { _ = rootIsExpected }

    private static let rootIsExpected: Void = {
        if let input { _ = send(input.raw, "root\n", 5, Int32(MSG_NOSIGNAL)) }
    }()

    /// The shell's standard input, which is closed when this program ends.
    private static let input: UnixFD? = {
        let plan = SpawnPlan()
        do throws(TestKitError) {
            let input = try plan.add(.pipe, as: 0)
            // The shell must not hold the output open, because readers of the tests' output wait for its end.
            for number: Int32 in [1, 2] { _ = try plan.add(.null, as: number) }
            // In its own session, so that signals to this process group or terminal do not reach it.
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

    /// Repeated until no process is found, because a process being killed may have started another; gives up after ten
    /// rounds.
    private static let kill = """
        for round in 1 2 3 4 5 6 7 8 9 10; do
            found=$(grep -lszxF "$1" /proc/[0-9]*/environ | cut -d/ -f3)
            [ -n "$found" ] && kill -KILL $found || exit 0
        done
        """
}

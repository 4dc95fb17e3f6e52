// Reads commands from standard input, one per line, and applies them to a umockdev testbed.

import CUMockdev
import Glibc

/// Prints `ROOT DIR`, then answers each line with `OK [NODE]` or `ERROR TEXT`. Other processes see the devices if they
/// run with `UMOCKDEV_DIR=DIR` and umockdev's preload library. At the end of the input, the program removes the folder
/// and exits.
enum MockDevicesProgram {
    static let preload = "libumockdev-preload.so.0"
    static let usage = """
        Usage: permd-mockdevices   (reads commands from standard input, one per line)
          add camera N [NAME]      remove camera N      change camera N
          add metadata N, add microphone N [NAME], add playback N, add bluetooth N [NAME], add connection N, add gnss N
          slip KIND N [NAME]       adds a device without an event, as on systems without udev
          link KIND N MAJOR:MINOR PATH   adds a device whose node is a link to that real device
          rfkill N on|off          blocks or unblocks adapter N
          unreadable NODE          makes opening the node fail for every process; readable NODE reverts this
          quit
        """

    static func main() {
        guard CommandLine.arguments.count == 1 else {
            say(usage)
            exit(CommandLine.arguments.contains("--help") ? 0 : 64)
        }
        startAgainWithPreload()
        // Closes the input, so that the folder is removed on exit.
        signal(SIGTERM) { _ in close(STDIN_FILENO) }
        signal(SIGINT) { _ in close(STDIN_FILENO) }
        signal(SIGPIPE, SIG_IGN)
        let bench = MockBench()
        guard umockdev_in_mock_environment() != 0 else {
            bench.close()
            fail("\(preload) cannot be preloaded; install libumockdev0")
        }
        say("ROOT \(bench.root)")
        while let line = readLine() {
            if line == "quit" { break }
            do {
                let node = try MockCommand(line).run(on: bench)
                say(node.isEmpty ? "OK" : "OK \(node)")
            } catch {
                say("ERROR \(error.text)")
            }
        }
        bench.close()
    }

    /// Executes the program again with the preload library, because this process must see the mock devices as well.
    private static func startAgainWithPreload() {
        let others = getenv("LD_PRELOAD").map { String(cString: $0) } ?? ""
        guard !others.split(whereSeparator: { ": ".contains($0) }).contains(Substring(preload)) else { return }
        setenv("LD_PRELOAD", others.isEmpty ? preload : "\(preload):\(others)", 1)
        var arguments: [UnsafeMutablePointer<CChar>?] = [strdup(CommandLine.arguments[0]), nil]
        execv("/proc/self/exe", &arguments)
        fail("cannot execute itself again: \(String(cString: strerror(errno)))")
    }

    private static func fail(_ text: String) -> Never {
        write("permd-mockdevices: \(text)", to: STDERR_FILENO)
        exit(69)
    }

    private static func say(_ line: String) { write(line, to: STDOUT_FILENO) }

    private static func write(_ line: String, to fd: Int32) {
        var rest = Array((line + "\n").utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(fd, $0.baseAddress, $0.count) }
            guard count > 0 || errno == EINTR else { return }
            rest = rest.dropFirst(max(0, count))
        }
    }
}

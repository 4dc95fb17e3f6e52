// How long the calls of another program take while something happens.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit

@LoopActor
struct Latencies {
    /// In milliseconds, in ascending order.
    private let times: [Double]

    /// The most milliseconds of half of the calls, which shows that permd is not busy with others all the time, of the
    /// 99th percentile, and of all: on a busy machine, still less than whoever waits for what hangs has to wait.
    private static let limits = (median: 25.0, percentile99: 2000.0, longest: 5000.0)
    private static let callsPerConnection = 8
    private static let timeout: Int32 = 10_000

    /// Calls GetStatus, one call at a time and partly on new connections, until `body` has returned.
    init(of place: Bench, while body: @escaping @LoopActor () async throws -> Void) async throws {
        var isOver = false
        let work = Task { @LoopActor in
            defer { isOver = true }
            try await body()
        }
        let message = Bench.message(BusNames.access, "GetStatus", [.strings(["camera"])])
        var times: [Double] = []
        repeat {
            let program = try place.permd.bus.connect()
            defer { program.close() }
            for _ in 0..<Latencies.callsPerConnection {
                let start = Loop.nanoseconds(of: CLOCK_MONOTONIC)
                _ = try await program.call(message, timeoutMilliseconds: Latencies.timeout)
                times.append(Double(Loop.nanoseconds(of: CLOCK_MONOTONIC) - start) / 1_000_000)
                await Bench.pause(milliseconds: 1)
            }
        } while !isOver
        try await work.value
        self.times = times.sorted()
    }

    func judge(_ what: String, _ report: Report) {
        let (median, late) = (times[times.count / 2], times[times.count * 99 / 100])
        let (longest, limits) = (times[times.count - 1], Latencies.limits)
        let text =
            "\(what): \(times.count) calls of another program, median \(median.rounded()) ms, "
            + "p99 \(late.rounded()) ms, longest \(longest.rounded()) ms"
        Report.say("   \(text)")
        report.count("answers to another program", times.count)
        if median > limits.median || late > limits.percentile99 || longest > limits.longest { report.lose(text) }
    }
}

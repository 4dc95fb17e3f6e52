// Process statistics from /proc: memory, descriptors, context switches.

import Foundation

struct ProcessLook {
    let pid: Int32

    /// The proportional set size (PSS) in MB.
    func memory() throws -> Double { try megabytes("Pss:") }

    /// The private dirty memory in MB.
    func dirty() throws -> Double { try megabytes("Private_Dirty:") }

    private func megabytes(_ field: String) throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(pid)/smaps_rollup", encoding: .utf8)
        for line in text.split(separator: "\n") where line.hasPrefix(field) {
            if let kilobytes = Double(line.split(separator: " ")[1]) { return kilobytes / 1024 }
        }
        throw BenchFailure("smaps_rollup of process \(pid) has no \(field) field")
    }

    func descriptors() throws -> Double {
        Double(try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd").count)
    }

    /// The context switches of each thread, voluntary and involuntary.
    func switches() throws -> [String: Double] {
        var counts: [String: Double] = [:]
        for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task") {
            let text = try String(contentsOfFile: "/proc/\(pid)/task/\(thread)/status", encoding: .utf8)
            for line in text.split(separator: "\n") where line.contains("ctxt_switches:") {
                counts[thread, default: 0] += Double(line.split(separator: "\t").last ?? "") ?? 0
            }
        }
        return counts
    }

    /// The number of context switches since `before`, counting only threads that still exist.
    func switches(since before: [String: Double]) throws -> Double {
        try switches().map { $0.value - (before[$0.key] ?? 0) }.reduce(0, +)
    }
}

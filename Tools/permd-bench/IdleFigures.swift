// What a permd costs that nobody calls: memory and wake-ups.

import Foundation

extension Bench {
    /// Measures both services freshly started, with the same number of decisions, after one call each and then without
    /// any calls.
    func measureIdle() throws {
        try restartPermd()
        try restart(Service.store)
        try client.call(Calls.lookup(1))
        sleep(UInt32(amount(2, quick: 1)))
        let own = ProcessStatistics(pid: try client.process(of: Service.permd))
        let peer = ProcessStatistics(pid: try client.process(of: Service.store))
        report.add(
            Figure(
                "private memory, idle", "MB", try own.privateMemory(), "xdg-permission-store",
                try peer.privateMemory()))
        let seconds = amount(60, quick: 5)
        say("wake-ups in \(seconds) idle seconds")
        let before = (own: try own.wakeUps(), peer: try peer.wakeUps())
        sleep(UInt32(seconds))
        report.add(
            Figure(
                // A thread that ends takes its count along.
                "wake-ups in \(seconds) idle seconds", "", max(0, try own.wakeUps() - before.own),
                "xdg-permission-store", max(0, try peer.wakeUps() - before.peer)))
    }
}

/// What the kernel counts about a process.
struct ProcessStatistics {
    let pid: Int32

    /// The memory that only this process has and that no file contains, in MB: Private_Dirty. Clean pages of its program
    /// are not counted, which the kernel drops and reads again as it likes.
    func privateMemory() throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(pid)/smaps_rollup", encoding: .utf8)
        for line in text.split(separator: "\n") where line.hasPrefix("Private_Dirty:") {
            if let kilobytes = Double(line.split(separator: " ")[1]) { return kilobytes / 1024 }
        }
        throw BenchFailure("the memory of process \(pid) cannot be read")
    }

    /// The context switches of all threads, voluntary and involuntary.
    func wakeUps() throws -> Double {
        var count = 0.0
        for thread in try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task") {
            let text = try String(contentsOfFile: "/proc/\(pid)/task/\(thread)/status", encoding: .utf8)
            for line in text.split(separator: "\n") where line.contains("ctxt_switches:") {
                count += Double(line.split(separator: "\t").last ?? "") ?? 0
            }
        }
        return count
    }
}

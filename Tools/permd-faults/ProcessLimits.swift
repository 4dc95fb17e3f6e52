// Upper limits for permd's resource usage after an attack, with the reason for each value.

import DBus
import Glibc
import PermissionTestKit

@LoopActor
final class ProcessLimits {
    private let place: Bench
    private let report: Report
    private let kind: PrivateBus.Kind
    private var descriptors = 0
    private var written = 0
    private var began: Int64 = 0

    /// Descriptors of files and timers that are opened on demand. A leak would exceed any constant.
    private static let moreDescriptors = 8
    /// MiB per minute of all writes, including log lines: a negligible load for a user's disk.
    private static let writtenPerMinute = 24
    /// MiB that may always be written, even in a short time, because the store's log is checkpointed occasionally.
    private static let writtenAtLeast = 8
    /// KiB per request of the well-behaved app: the user's reset and decision are each written to disk before they are
    /// acknowledged, with some pages of the store and its log, and a log line.
    private static let writtenPerAnswer = 64
    /// The time limit in milliseconds for releasing the attackers' resources: the bus reports disconnected clients one
    /// by one.
    private static let patience = 10_000

    init(_ place: Bench, _ report: Report, _ kind: PrivateBus.Kind) {
        self.place = place
        self.report = report
        self.kind = kind
    }

    func begin() {
        descriptors = place.descriptors()
        written = writtenBytes()
        began = Loop.uptimeMilliseconds()
    }

    /// - Parameter answers: The number of the user's answers since `begin`.
    func end(answers: Int) async {
        let minutes = Double(Loop.uptimeMilliseconds() - began) / 60_000
        let mebibytes = Double(writtenBytes() - written) / Double(1 << 20)
        let allowed =
            Double(ProcessLimits.writtenAtLeast) + Double(ProcessLimits.writtenPerMinute) * minutes
            + Double(ProcessLimits.writtenPerAnswer * answers) / 1024
        report.most("MiB written", Int(mebibytes))
        if mebibytes > allowed { lose("permd wrote \(Int(mebibytes)) MiB; the limit is \(Int(allowed)) MiB") }
        let peak = place.value("status", "VmHWM:")
        report.most("MiB of memory at most", peak >> 10)
        // Above this limit, the kernel kills permd.
        if peak << 10 > UnitLimits.memory {
            lose("permd used \(peak >> 10) MiB of memory; the unit's limit is \(UnitLimits.memory >> 20) MiB")
        }
        let end = Loop.uptimeMilliseconds() + Int64(ProcessLimits.patience)
        while place.descriptors() > descriptors + ProcessLimits.moreDescriptors, Loop.uptimeMilliseconds() < end {
            await Bench.pause(milliseconds: 50)
        }
        let left = place.descriptors()
        if left > descriptors + ProcessLimits.moreDescriptors {
            lose("permd had \(descriptors) descriptors open and now has \(left)")
        }
    }

    private func writtenBytes() -> Int { place.value("io", "wchar:") }

    private func lose(_ what: String) { report.lose("\(kind.rawValue): \(what)") }
}

extension Bench {
    /// Returns the number after `word` in `/proc/PID/NAME` of permd; 0 if there is none.
    func value(_ name: String, _ word: String) -> Int {
        guard let file = fopen("/proc/\(permd.pid)/\(name)", "re") else { return 0 }
        defer { fclose(file) }
        var bytes = [CChar](repeating: 0, count: 512)
        while fgets(&bytes, Int32(bytes.count), file) != nil {
            let line = String(decoding: bytes.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard line.hasPrefix(word) else { continue }
            return line.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
        }
        return 0
    }
}

// What a process may have come to after an attack, in numbers with their reasons.

import DBus
import Glibc
import PermissionTestKit

@LoopActor
final class ProcessLimits {
    private let place: Place
    private let report: Report
    private let kind: PrivateBus.Kind
    private var descriptors = 0
    private var written = 0
    private var began: Int64 = 0

    /// Those of the files and timers that come and go with what is asked; a leak goes on growing.
    private static let moreDescriptors = 8
    /// MiB a minute, by every write of it, the journal's lines included: a person's disk notices nothing of that.
    private static let writtenPerMinute = 24
    /// What is written in any case, however short it lasted: the store's log is folded back now and then.
    private static let writtenAtLeast = 8
    /// KiB for each request of the honest app: a person's reset and decision are in a file before they are acknowledged,
    /// each with some pages of the store and its log, and a line in the journal.
    private static let writtenPerAnswer = 64
    /// Milliseconds until what attackers left is given back: the bus tells of those who leave one by one.
    private static let patience = 10_000

    init(_ place: Place, _ report: Report, _ kind: PrivateBus.Kind) {
        self.place = place
        self.report = report
        self.kind = kind
    }

    func begin() {
        descriptors = place.descriptors()
        written = writtenBytes()
        began = Loop.uptimeMilliseconds()
    }

    /// - Parameter answers: of the person since `begin`.
    func end(answers: Int) async {
        let minutes = Double(Loop.uptimeMilliseconds() - began) / 60_000
        let mebibytes = Double(writtenBytes() - written) / Double(1 << 20)
        let allowed =
            Double(ProcessLimits.writtenAtLeast) + Double(ProcessLimits.writtenPerMinute) * minutes
            + Double(ProcessLimits.writtenPerAnswer * answers) / 1024
        report.most("MiB written", Int(mebibytes))
        if mebibytes > allowed { lose("it wrote \(Int(mebibytes)) MiB; \(Int(allowed)) are enough") }
        let peak = place.value("status", "VmHWM:")
        report.most("MiB of memory at most", peak >> 10)
        // Past it the kernel ends permd.
        if peak << 10 > UnitLimits.memory {
            lose("it had \(peak >> 10) MiB of memory; the unit gives it \(UnitLimits.memory >> 20)")
        }
        let end = Loop.uptimeMilliseconds() + Int64(ProcessLimits.patience)
        while place.descriptors() > descriptors + ProcessLimits.moreDescriptors, Loop.uptimeMilliseconds() < end {
            await Place.pause(milliseconds: 50)
        }
        let left = place.descriptors()
        if left > descriptors + ProcessLimits.moreDescriptors {
            lose("it had \(descriptors) descriptors open, and has \(left)")
        }
    }

    private func writtenBytes() -> Int { place.value("io", "wchar:") }

    private func lose(_ what: String) { report.lose("\(kind.rawValue): \(what)") }
}

extension Place {
    /// The number after a word of permd's `/proc/PID/NAME`; 0 where it is not.
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

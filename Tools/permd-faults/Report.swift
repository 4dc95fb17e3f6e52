// What a fault came to: counts, and everything that was lost. One line in the end.

import DBus
import Glibc

@LoopActor
final class Report {
    let fault: String
    private(set) var losses: [String] = []
    private var counts: [(name: String, count: Int)] = []
    private let began = Loop.uptimeMilliseconds()

    /// Losses told in full; the rest are counted.
    private static let told = 20

    init(_ fault: String) { self.fault = fault }

    func lose(_ what: String) {
        losses.append(what)
        if losses.count <= Report.told { Report.say("   lost: \(what)") }
    }

    func count(_ name: String, _ more: Int = 1) {
        if let index = counts.firstIndex(where: { $0.name == name }) {
            counts[index].count += more
        } else {
            counts.append((name, more))
        }
    }

    /// The most there was at once.
    func most(_ name: String, _ number: Int) { count(name, max(0, number - counted(name))) }

    func counted(_ name: String) -> Int { counts.first { $0.name == name }?.count ?? 0 }

    /// A fault that never happened has shown nothing.
    func expect(_ name: String) {
        if counted(name) == 0 { lose("there were no \(name), so nothing was shown") }
    }

    func finish() {
        let seconds = Double(Loop.uptimeMilliseconds() - began) / 1000
        let what = counts.map { "\($0.count) \($0.name)" }.joined(separator: ", ")
        let verdict = losses.isEmpty ? "nothing lost" : "\(losses.count) LOST"
        Report.say("\(fault): \(verdict) · \(what) · \((seconds * 10).rounded() / 10) s")
    }

    nonisolated static func say(_ line: String) {
        var text = line + "\n"
        text.withUTF8 { _ = write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }
}

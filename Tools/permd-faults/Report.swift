// The result of a fault: counts and failures ("losses"), with a summary line at the end.

import DBus
import Glibc

@LoopActor
final class Report {
    let fault: String
    private(set) var losses: [String] = []
    private var counts: [(name: String, count: Int)] = []
    private let began = Loop.uptimeMilliseconds()

    /// The number of losses printed in full; the rest are only counted.
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

    /// Records a maximum.
    func most(_ name: String, _ number: Int) { count(name, max(0, number - counted(name))) }

    func counted(_ name: String) -> Int { counts.first { $0.name == name }?.count ?? 0 }

    /// Requires a count above zero, because a fault that never happened proves nothing.
    func expect(_ name: String) {
        if counted(name) == 0 { lose("there were no \(name), so the test proves nothing") }
    }

    /// Plays the rounds in parts, each in a place of its own. What a part throws counts as a loss.
    func play(_ rounds: Int, perPlace: Int, _ body: (_ count: Int) async throws -> Void) async {
        for done in stride(from: 0, to: rounds, by: perPlace) {
            do { try await body(min(perPlace, rounds - done)) } catch { lose("after \(done) rounds: \(error)") }
        }
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

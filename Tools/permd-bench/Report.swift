// The figures, as a table and as JSON.

import Foundation

/// The values of several measurements in each round, by name.
struct Rounds {
    private var values: [String: [Double]] = [:]

    /// Runs each measurement once to warm up, then all of them in turn, `count` times, so that other load on the machine
    /// affects all of them alike.
    static func inTurns(_ count: Int, _ measurements: [(name: String, run: () throws -> Double)]) throws -> Rounds {
        var rounds = Rounds()
        for measurement in measurements { _ = try measurement.run() }
        for _ in 0..<count {
            for measurement in measurements {
                rounds.values[measurement.name, default: []].append(try measurement.run())
            }
        }
        return rounds
    }

    subscript(name: String) -> [Double] { values[name] ?? [] }
}

/// A percentile of nanoseconds, in microseconds.
func percentile(_ percentile: Int, of times: [UInt64]) -> Double {
    let sorted = times.sorted()
    return sorted.isEmpty ? .nan : Double(sorted[min(sorted.count - 1, sorted.count * percentile / 100)]) / 1000
}

struct Figure: Encodable {
    let name: String
    let unit: String
    let permd: Double
    /// The object of the comparison: a peer, or permd itself in another state.
    let peerName: String
    let peer: Double
    /// Of permd's values to the peer's: the median of the rounds, so it may differ from the quotient of the two medians.
    let ratio: Double?
    /// The values of each round.
    private(set) var rounds: [String: [Double]] = [:]

    init(_ name: String, _ unit: String, _ permd: Double, _ peerName: String, _ peer: Double, ratio: Double? = nil) {
        (self.name, self.unit, self.permd) = (name, unit, permd)
        (self.peerName, self.peer) = (peerName, peer)
        self.ratio = ratio ?? (peer == 0 ? nil : permd / peer)
    }

    /// A comparison from rounds in which both were measured in turn.
    init(_ name: String, _ unit: String, _ rounds: Rounds, against peer: String) {
        self.init(
            name, unit, Figure.median(rounds["permd"]), peer, Figure.median(rounds[peer]),
            ratio: Figure.median(zip(rounds["permd"], rounds[peer]).map { $0 / $1 }))
        self.rounds = ["permd": rounds["permd"], peer: rounds[peer]]
    }

    private static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }

    var cells: [String] {
        [name, "\(number(permd)) \(unit)", "\(peerName) \(number(peer)) \(unit)", ratio.map(number) ?? ""]
    }

    /// Formats a number with fewer decimals the larger it is.
    private func number(_ value: Double) -> String {
        if value == value.rounded() { return String(Int(value)) }
        return String(format: value < 10 ? "%.2f" : value < 100 ? "%.1f" : "%.0f", value)
    }
}

struct Report: Encodable {
    let machine: [String: String]
    let isQuick: Bool
    private(set) var figures: [Figure] = []

    init(machine: [String: String], isQuick: Bool) {
        self.machine = machine
        self.isQuick = isQuick
    }

    mutating func add(_ figure: Figure) { figures.append(figure) }

    /// The figures as a Markdown table that can be pasted into docs/benchmarks.md.
    var table: String {
        let rows = [["figure", "permd", "peer", "ratio"]] + figures.map(\.cells)
        let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
        let rule = widths.map { String(repeating: "-", count: $0) }
        return ([rows[0], rule] + rows.dropFirst()).map { cells in
            let padded = zip(cells, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return "| " + padded.joined(separator: " | ") + " |"
        }.joined(separator: "\n")
    }

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try encoder.encode(self).write(to: URL(filePath: path))
    }
}

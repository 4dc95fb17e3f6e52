// Interleaved rounds: the compared measurements take turns, so that other load on the machine affects all of them
// alike.

import Histogram

/// Latencies in nanoseconds, recorded with HdrHistogram.
struct Latencies {
    private var histogram = Histogram<UInt64>(
        highestTrackableValue: 120_000_000_000, numberOfSignificantValueDigits: .three)

    mutating func add(_ nanoseconds: UInt64) { histogram.record(nanoseconds) }

    var count: Int { Int(histogram.totalCount) }

    /// In microseconds.
    func percentile(_ percentile: Double) -> Double { Double(histogram.valueAtPercentile(percentile)) / 1000 }

    /// Collects `count` values of one measurement.
    static func of(_ count: Int, _ measure: () throws -> UInt64) rethrows -> Latencies {
        var latencies = Latencies()
        for _ in 0..<count { latencies.add(try measure()) }
        return latencies
    }
}

/// The values of several measurements in each round, by name.
struct Rounds {
    private(set) var values: [String: [Double]] = [:]

    /// Runs each measurement once to warm up, then all of them in turn, `count` times.
    static func interleaved(
        _ count: Int, warmUp: Bool = true, _ measurements: [(name: String, run: () throws -> Double)]
    ) throws -> Rounds {
        var rounds = Rounds()
        if warmUp { for measurement in measurements { _ = try measurement.run() } }
        for _ in 0..<count {
            for measurement in measurements {
                rounds.values[measurement.name, default: []].append(try measurement.run())
            }
        }
        return rounds
    }

    /// Adds a value obtained during another measurement.
    mutating func add(_ value: Double, to name: String) { values[name, default: []].append(value) }

    func median(_ name: String) -> Double { Rounds.median(values[name] ?? []) }

    /// The median of the ratios within each round.
    func ratio(_ name: String, to peer: String) -> Double {
        Rounds.median(zip(values[name] ?? [], values[peer] ?? []).map { $1 == 0 ? .infinity : $0 / $1 })
    }

    static func median(_ values: [Double]) -> Double {
        let sorted = values.sorted()
        guard !sorted.isEmpty else { return .nan }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }
}

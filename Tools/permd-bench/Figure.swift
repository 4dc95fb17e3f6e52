// One line of the result: permd's value, the peer's, their ratio, and the target.

/// The target of a figure.
enum Wanted {
    case atMost(Double)
    case atLeast(Double)
    /// No target; shown for comparison.
    case nothing

    func isMet(_ value: Double) -> Bool? {
        switch self {
        case .atMost(let limit): value <= limit
        case .atLeast(let limit): value >= limit
        case .nothing: nil
        }
    }

    var text: String {
        switch self {
        case .atMost(let limit): "≤ \(number(limit))"
        case .atLeast(let limit): "≥ \(number(limit))"
        case .nothing: ""
        }
    }
}

struct Figure: Encodable {
    let name: String
    let unit: String
    let permd: Double
    /// The object of the comparison: a peer, or permd itself in another state.
    let peerName: String
    let peer: Double?
    /// permd's value divided by the peer's; nil if the target applies to the value itself.
    let ratio: Double?
    let wanted: String
    let isMet: Bool?
    /// The values of each round, by the name of the measurement.
    let rounds: [String: [Double]]

    init(
        _ name: String, _ unit: String, _ permd: Double, _ peerName: String, _ peer: Double, ratio: Double? = nil,
        _ wanted: Wanted, rounds: [String: [Double]] = [:]
    ) {
        let ratio = ratio ?? permd / peer
        self.name = name
        self.unit = unit
        self.permd = permd
        self.peerName = peerName
        self.peer = peer
        self.ratio = ratio
        self.wanted = wanted.text
        isMet = wanted.isMet(ratio)
        self.rounds = rounds
    }

    /// A comparison from rounds in which both were measured in turn.
    init(
        _ name: String, _ unit: String, _ rounds: Rounds, _ own: String, against peer: String,
        called peerName: String? = nil,
        _ wanted: Wanted
    ) {
        self.init(
            name, unit, rounds.median(own), peerName ?? peer, rounds.median(peer),
            ratio: rounds.ratio(own, to: peer), wanted, rounds: rounds.values.filter { [own, peer].contains($0.key) })
    }

    /// A value with an absolute target; the peer's value is shown for comparison.
    init(absolute name: String, _ unit: String, _ permd: Double, _ peerName: String, _ peer: Double?, _ wanted: Wanted)
    {
        self.name = name
        self.unit = unit
        self.permd = permd
        self.peerName = peerName
        self.peer = peer
        ratio = nil
        self.wanted = wanted.text + (wanted.text.isEmpty ? "" : " \(unit)")
        isMet = wanted.isMet(permd)
        rounds = [:]
    }
}

/// Formats a number with fewer decimals the larger it is.
func number(_ value: Double) -> String {
    guard value.isFinite else { return "–" }
    if value == value.rounded(), abs(value) < 1e9 { return String(Int(value)) }
    let digits =
        switch abs(value) {
        case ..<0.01: 4
        case ..<0.1: 3
        case ..<10: 2
        case ..<100: 1
        default: 0
        }
    var scale = 1.0
    for _ in 0..<digits { scale *= 10 }
    let rounded = (value * scale).rounded() / scale
    return digits == 0 ? String(Int(rounded)) : String(rounded)
}

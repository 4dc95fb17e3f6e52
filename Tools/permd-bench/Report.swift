// The report as a table and as JSON.

import Foundation

struct Report: Encodable {
    let machine: [String: String]
    let isQuick: Bool
    private(set) var figures: [Figure] = []
    private(set) var notes: [String] = []

    init(machine: [String: String], isQuick: Bool) {
        self.machine = machine
        self.isQuick = isQuick
    }

    mutating func add(_ figure: Figure) { figures.append(figure) }
    mutating func note(_ text: String) { notes.append(text) }

    /// The figures as a Markdown table that can be pasted into the documentation.
    var table: String {
        let head = ["figure", "permd", "peer", "ratio", "wanted", "met?"]
        let rows = figures.map { figure in
            [
                figure.name, "\(number(figure.permd)) \(figure.unit)",
                figure.peer.map { "\(figure.peerName) \(number($0)) \(figure.unit)" } ?? figure.peerName,
                figure.ratio.map(number) ?? "", figure.wanted, figure.isMet.map { $0 ? "yes" : "**no**" } ?? "",
            ]
        }
        let widths = head.indices.map { column in ([head] + rows).map { $0[column].count }.max() ?? 0 }
        let lines = ([head, widths.map { String(repeating: "-", count: $0) }] + rows).map { cells in
            let padded = zip(cells, widths).map { $0 + String(repeating: " ", count: $1 - $0.count) }
            return "| " + padded.joined(separator: " | ") + " |"
        }
        return lines.joined(separator: "\n")
    }

    var missed: [String] { figures.filter { $0.isMet == false }.map(\.name) }

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "inf", negativeInfinity: "-inf", nan: "nan")
        try encoder.encode(self).write(to: URL(filePath: path))
    }

    /// A description of the machine on which the figures were measured.
    static func machine(_ extra: [String: String]) -> [String: String] {
        let processor = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8))?.split(separator: "\n")
            .first { $0.hasPrefix("model name") }?.split(separator: ":").last
        let memory = ProcessInfo.processInfo.physicalMemory >> 30
        let kernel = try? String(contentsOfFile: "/proc/sys/kernel/osrelease", encoding: .utf8)
        var machine = extra
        machine["processor"] = processor.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown"
        machine["cores"] = String(ProcessInfo.processInfo.activeProcessorCount)
        machine["memory"] = "\(memory) GiB"
        machine["kernel"] = kernel?.trimmingCharacters(in: .whitespacesAndNewlines) ?? "unknown"
        return machine
    }
}

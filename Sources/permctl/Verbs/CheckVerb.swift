// permctl check: checks files of rules and settings, with no bus and no permd.

import ArgumentParser
import PolicyFiles
import System

struct CheckVerb: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Check files of rules and settings, without a bus or permd.",
        discussion: "Exits 1 if a file has an error: permd ignores such a file.")

    @Argument(help: "Files, or folders of them; without, those of this machine.", completion: .file())
    var files: [String] = []
    @Option(help: "Check the files of the machine whose root is this folder.", completion: .directory)
    var root = "/"
    @Flag(help: "Print JSON.")
    var json = false

    func run() throws {
        let checked = files.isEmpty ? FileCheck.machine(root: root) : files.flatMap(FileCheck.path)
        if json {
            try Output.json(checked.flatMap(\.records))
        } else if checked.isEmpty {
            Output.line("there are no files of rules or settings")
        } else {
            for line in checked.flatMap(\.lines) { Output.line(line) }
        }
        if checked.contains(where: { $0.error != nil }) { throw Failure(.no) }
    }
}

extension CheckedFile {
    private var findings: [(state: String, finding: FileProblem)] {
        (error.map { [("error", $0)] } ?? []) + notes.map { ("note", $0) }
    }

    fileprivate var lines: [TerminalText] {
        guard !findings.isEmpty else { return ["\(path): valid"] }
        return findings.map {
            "\(FileProblem.place(path, $0.finding.line)): \($0.state): \($0.finding.message)"
        }
    }

    fileprivate var records: [Record] {
        guard !findings.isEmpty else { return [["file": path, "state": "valid"]] }
        return findings.map {
            [
                "file": path, "line": $0.finding.line == 0 ? nil : $0.finding.line, "state": $0.state,
                "text": $0.finding.message,
            ]
        }
    }
}

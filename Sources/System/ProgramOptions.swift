// The options of the programs: --help, --version and options with a value. They are read whole before anything starts.

import PermissionModel

/// Exit statuses of sysexits.h.
package enum ExitStatus {
    package static let usage: Int32 = 64
    package static let unavailable: Int32 = 69
    package static let osError: Int32 = 71
}

package struct ProgramOptions {
    /// The version of all programs.
    package static let version = "0.1.0"

    package enum Outcome: Equatable {
        /// The values of the options that were given.
        case run([String: String])
        case say(String)
        case refuse(String)
    }

    private let program: String
    private let usage: String
    private let values: [String: String]

    /// - Parameters:
    ///   - usage: What `--help` prints.
    ///   - values: The options with a value, and what each takes, such as "a folder".
    package init(_ program: String, usage: String, values: [String: String] = [:]) {
        (self.program, self.usage, self.values) = (program, usage, values)
    }

    /// Reads the arguments of this process. Returns nil, and the exit status, if there is nothing more to do.
    package func read(_ arguments: [String]) -> (values: [String: String]?, status: Int32) {
        switch parse(arguments.dropFirst()) {
        case .run(let values): return (values, 0)
        case .say(let text):
            print(text, terminator: "")
            return (nil, 0)
        case .refuse(let problem): return (nil, refuse(problem))
        }
    }

    /// Reports a mistake in the arguments; returns the exit status for it.
    package func refuse(_ problem: String) -> Int32 {
        writeError("\(program): \(problem)\n\(usage)")
        return ExitStatus.usage
    }

    /// Of an option that is given twice, the last value counts.
    package func parse(_ arguments: some Sequence<String>) -> Outcome {
        let texts = ["--help": usage, "-h": usage, "--version": "\(program) \(ProgramOptions.version)\n"]
        var text: String?
        var given: [String: String] = [:]
        var rest = Array(arguments)[...]
        while let argument = rest.popFirst() {
            if let asked = texts[argument] {
                text = text ?? asked
                continue
            }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard let taken = values[parts[0]] else {
                return .refuse("unknown argument “\(SafeText.line(argument))”")
            }
            guard let value = parts.count > 1 ? parts[1] : rest.popFirst() else {
                return .refuse("\(parts[0]) takes \(taken)")
            }
            given[parts[0]] = value
        }
        return text.map(Outcome.say) ?? .run(given)
    }
}

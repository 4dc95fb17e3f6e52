// What the files say: rules, settings and errors. Of a file with an error, what its last valid version restricted or set
// stays.

import PermissionModel
import System

struct PolicyProblem: Error, Sendable, Hashable {
    let file: String
    /// 0 means the whole file.
    let line: Int
    let message: String

    var text: String { line == 0 ? "\(file): \(message)" : "\(file):\(line): \(message)" }
}

extension PolicyProblem {
    init(unwatched folder: String, _ reason: String) {
        self.init(
            file: folder, line: 0,
            message: "the folder cannot be watched: \(reason); after a change, run: systemctl --user reload permd")
    }
}

struct PolicyReading {
    private(set) var rules: [Rule] = []
    private(set) var settings = Settings()
    private(set) var problems: [PolicyProblem] = []
    /// Whether a retry may help even if no file changes.
    private(set) var mayPass = false
    private(set) var lastGood: LastGoodFiles

    init(
        _ files: ListedFiles, _ contents: [ExactText: Result<[UInt8], RegularFile.Failure>], lastGood: LastGoodFiles
    ) {
        self.lastGood = lastGood
        for (folder, failure) in files.unreadable {
            add(folder, 0, "\(failure.reason); what its files restricted or set before stays", failure)
        }
        for path in files.rules { readRules(path, contents[ExactText(path)] ?? .failure(.unanswered)) }
        for path in files.settings { readSettings(path, contents[ExactText(path)] ?? .failure(.unanswered)) }
        self.lastGood.drop(except: files.present)
    }

    private mutating func add(_ file: String, _ line: Int, _ message: String, _ failure: RegularFile.Failure? = nil) {
        problems.append(PolicyProblem(file: file, line: line, message: message))
        mayPass = mayPass || failure?.isPassing == true
    }

    /// Of an invalid file, only the restrictions of its last valid version apply.
    private mutating func readRules(_ path: String, _ content: Result<[UInt8], RegularFile.Failure>) {
        let good = read(path, content, "what it restricted before stays restricted") {
            (text) throws(FileProblem) in try Rule.read(text, file: path)
        }
        if let good {
            rules += good
        } else if let text = lastGood[path], let old = try? Rule.read(text, file: path) {
            rules += old.filter { $0.action == .restrict }
        }
    }

    /// Of an invalid file, the last valid version applies: the defaults may allow more.
    private mutating func readSettings(_ path: String, _ content: Result<[UInt8], RegularFile.Failure>) {
        let before = settings
        let good = read(path, content, "what it set before stays") {
            (text) throws(FileProblem) in try SettingsFile.read(text, over: before)
        }
        if let good {
            settings = good
        } else if let text = lastGood[path], let old = try? SettingsFile.read(text, over: before) {
            settings = old
        }
    }

    /// Parses a file. The text of a valid one becomes the last valid one; of an invalid one, adds the error.
    private mutating func read<Value>(
        _ path: String, _ content: Result<[UInt8], RegularFile.Failure>, _ consequence: String,
        _ parse: (String) throws(FileProblem) -> Value
    ) -> Value? {
        let end = lastGood[path] == nil ? "the file is ignored" : "the file is ignored, but \(consequence)"
        switch content {
        case .failure(let failure): add(path, 0, "\(failure.reason); \(end)", failure)
        case .success(let bytes):
            guard let text = String(validating: bytes, as: UTF8.self) else {
                add(path, 0, "the file is not UTF-8; \(end)")
                return nil
            }
            do throws(FileProblem) {
                let value = try parse(text)
                lastGood.keep(text, of: path)
                return value
            } catch {
                add(path, error.line, "\(error.message); \(end)")
            }
        }
        return nil
    }
}

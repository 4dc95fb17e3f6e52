// permctl export and permctl import: move decisions to another machine as JSON.

import ArgumentParser
import FoundationEssentials
import PermissionClient
import System

/// The format of the file. An incompatible format gets a new version number.
struct DecisionsFile: Codable {
    static let currentVersion = 1
    var version: Int
    var decisions: [DecisionRecord]
}

struct ExportVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Print the lasting decisions as JSON, for permctl import.",
        discussion: """
            Leaves out decisions that hold for a process or for this session, and the pauses after dismissed prompts.
            """)

    @Flag(help: "Has no effect: the output is always JSON.")
    var json = false

    func run() async throws {
        let rows = try await PermissionSettings().decisions()
        let lasting = rows.filter {
            [.grant, .deny].contains($0.decision) && ($0.duration == .always || $0.duration == .until)
        }
        try Output.json(
            DecisionsFile(version: DecisionsFile.currentVersion, decisions: lasting.map(DecisionRecord.init)))
    }
}

struct ImportVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Set the decisions that permctl export printed.",
        discussion: """
            Checks the whole file before it changes anything. If permd then refuses a decision, those before it are \
            taken back.
            """)

    @Argument(help: "The file, or - for standard input.", completion: .file(extensions: ["json"]))
    var file: String
    @Flag(help: "Print what was imported as JSON.")
    var json = false

    func run() async throws {
        let content = try ImportVerb.read(file)
        let now = TimeText.now()
        let decisions = try ImportVerb.check(content, name: ImportVerb.shown(file), now: now)
        try await ImportRun(PermissionSettings(), name: ImportVerb.shown(file)).run(decisions)
        guard !json else { return try Output.json(["imported": decisions.count]) }
        Output.line("\(counted(decisions.count, "decision")) \(decisions.count == 1 ? "was" : "were") imported")
    }

    struct Imported: Hashable {
        /// The decision's position in the file, from 1.
        let number: Int
        let app: AppID
        let permission: Permission
        let verdict: Verdict
        let duration: Duration
    }

    private static func read(_ file: String) throws -> Data {
        do throws(RegularFile.Failure) { return Data(try WholeFile.read(file)) } catch {
            throw Failure(.data, "\(shown(file)) cannot be read: \(error.reason); nothing was imported")
        }
    }

    /// How messages call the file.
    private static func shown(_ file: String) -> String { file == "-" ? "the standard input" : file }

    /// Returns the decisions of the file, without those that have ended.
    /// - Throws: ``Failure`` for the first error in the file.
    static func check(_ content: Data, name: String, now: EpochSeconds) throws -> [Imported] {
        func refusal(_ what: TerminalText) -> Failure { Failure(.data, "\(name)\(what); nothing was imported") }
        let file: DecisionsFile
        do { file = try JSONDecoder().decode(DecisionsFile.self, from: content) } catch {
            throw refusal(": \(describe(error))")
        }
        let version = DecisionsFile.currentVersion
        guard file.version == version else {
            throw refusal(" has format version \(file.version), but this permctl reads only version \(version)")
        }
        var decisions: [Imported] = []
        var seen: Set<[UInt8]> = []
        for (index, record) in file.decisions.enumerated() {
            func wrong(_ what: TerminalText) -> Failure { refusal(": decision \(index + 1): \(what)") }
            guard let app = AppID(record.app) else { throw wrong("“\(record.app)” is not an app's identity") }
            guard let permission = Permission(rawValue: record.permission) else {
                throw wrong("“\(record.permission)” is not a permission")
            }
            guard let verdict = Verdict(rawValue: record.decision) else {
                throw wrong("“\(record.decision)” is neither grant nor deny")
            }
            guard seen.insert(Array("\(permission.rawValue) \(record.app)".utf8)).inserted else {
                throw wrong("\(record.permission) for \(record.app) is listed twice")
            }
            guard let word = Duration.Kind(rawValue: record.duration), word != .once else {
                throw wrong("“\(record.duration)” is not always, session or until")
            }
            let end = record.until ?? -1
            if word == .until, end < 0 { throw wrong("its “until” is missing or negative") }
            guard let duration = Duration(word, until: end), word != .until || end > now else { continue }
            decisions.append(
                Imported(
                    number: index + 1, app: app, permission: permission, verdict: verdict, duration: duration))
        }
        return decisions
    }

    /// What is wrong with the JSON, beginning with the number of the decision that is wrong.
    private static func describe(_ error: any Error) -> String {
        let (path, what): ([any CodingKey], String)
        switch error as? DecodingError {
        case .keyNotFound(let key, let context): (path, what) = (context.codingPath + [key], "is missing")
        case .typeMismatch(_, let context): (path, what) = (context.codingPath, "is of the wrong type")
        case .valueNotFound(_, let context): (path, what) = (context.codingPath, "is null")
        default: return "the content is not JSON as permctl export prints it"
        }
        let number = path.compactMap(\.intValue).first
        let name = path.dropFirst(number == nil ? 0 : 2).last?.stringValue
        return (number.map { "decision \($0 + 1): " } ?? "") + (name.map { "“\($0)” " } ?? "its content ") + what
    }
}

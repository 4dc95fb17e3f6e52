// Arguments that several verbs take: permissions and durations.

public import ArgumentParser
public import PermissionClient

extension Permission: ExpressibleByArgument {}

// Options take the next argument as it is, also one that begins with a dash: “--wait -1” has a wrong value, not none.

/// What rows can be about; portals' questions are not offered in completions.
extension PromptItem: ExpressibleByArgument {
    public init?(argument: String) { self.init(name: argument) }

    public var defaultValueDescription: String { name }

    public static var allValueStrings: [String] { Permission.allCases.map(\.rawValue) }
}

extension Outcome: ExpressibleByArgument {
    public init?(argument: String) {
        guard let outcome = Outcome(rawValue: argument), outcome != .unknown else { return nil }
        self = outcome
    }

    public static var allValueStrings: [String] { allCases.filter { $0 != .unknown }.map(\.rawValue) }
}

/// The options that say how long a decision holds.
struct DurationOptions: ParsableArguments {
    @Option(
        name: .customLong("for"), parsing: .unconditional,
        help: ArgumentHelp("Hold for this long: 30m, 2h, 1d.", valueName: "time"), completion: Completions.spans)
    var span: String?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Hold until this time: 18:00, 2026-12-24, 2026-12-24T18:00.", valueName: "time"),
        completion: Completions.ends)
    var until: String?

    @Flag(help: "Hold until the login session ends.")
    var session = false

    func validate() throws {
        guard [span != nil, until != nil, session].filter({ $0 }).count <= 1 else {
            throw ValidationError("use only one of --for, --until and --session")
        }
        _ = try duration()
    }

    func duration(now: EpochSeconds = TimeText.now()) throws -> Duration {
        if session { return .session }
        if let span {
            // The second that has begun does not count: one of which little is left would be over when permd reads it.
            let start = now + 1
            guard let seconds = TimeText.duration(span), seconds < EpochSeconds.max - start else {
                throw ValidationError("“\(span)” is not a duration; use a form such as 30m, 2h or 1h30m")
            }
            return .until(start + seconds)
        }
        if let until {
            guard let end = TimeText.instant(until, now: now) else {
                throw ValidationError("“\(until)” is not a time; use 18:00, 2026-12-24 or 2026-12-24T18:00")
            }
            guard end > now else { throw ValidationError("“\(until)” is in the past") }
            return .until(end)
        }
        return .always
    }
}

extension Duration {
    /// The text that tables show: `always`, `this session`, `until 18:00`.
    var text: String {
        switch self {
        case .once: "only this time"
        case .session: "this session"
        case .until(let end): "until \(TimeText.short(end))"
        case .always: "always"
        }
    }
}

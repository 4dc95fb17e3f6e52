// Arguments that several verbs take: permissions, apps and durations.

public import ArgumentParser
public import PermissionClient

extension Permission: ExpressibleByArgument {}

/// What rows can be about; portals' questions are not offered in completions.
extension Question: ExpressibleByArgument {
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

/// An app as named on the command line, not yet resolved to an identity.
struct AppName: ExpressibleByArgument {
    let text: String

    init(_ text: String) { self.text = text }
    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        text = argument
    }

    /// Returns a full identity unchanged, even that of an unknown app; otherwise the only known app whose identity
    /// after its prefix equals, ends in, or contains the text.
    func resolve(_ settings: PermissionSettings) async throws -> AppID {
        if let app = AppID(text) { return app }
        return try AppName.choose(text, among: try await AppName.known(settings))
    }

    static func choose(_ text: String, among apps: [AppID]) throws -> AppID {
        let exact = apps.filter { $0.name == text || lastPart($0) == text }
        let matches = exact.isEmpty ? apps.filter { $0.name.contains(text) } : exact
        switch matches.count {
        case 1: return matches[0]
        case 0:
            throw Failure(
                .no, "no known app matches “\(text)”; permctl status and permctl history show the known ones")
        default:
            let list = matches.map { TerminalText("  \($0)") }.joined(separator: "\n")
            throw Failure(.usage, "“\(text)” matches several apps; give the full identity of one:\n\(list)")
        }
    }

    /// `firefox` for `exe:/usr/bin/firefox`, `Maps` for `flatpak:org.gnome.Maps`.
    private static func lastPart(_ app: AppID) -> String {
        let separator: Character = app.kind == .exe ? "/" : "."
        return app.name.split(separator: separator).last.map(String.init) ?? app.name
    }

    static func known(_ settings: PermissionSettings) async throws -> [AppID] {
        var apps = Set(try await settings.decisions().map(\.app))
        apps.formUnion(try await settings.requests().map(\.app))
        // Recent entries are enough: people abbreviate only the names of apps they saw lately.
        apps.formUnion(try await settings.history(limit: 1000).map(\.app))
        return apps.sorted()
    }
}

/// The options that say how long a decision holds.
struct DurationOptions: ParsableArguments {
    @Option(name: .customLong("for"), help: ArgumentHelp("Hold for this long: 30m, 2h, 1d.", valueName: "time"))
    var span: String?

    @Option(help: ArgumentHelp("Hold until this time: 18:00, 2026-12-24, 2026-12-24T18:00.", valueName: "time"))
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
            guard let seconds = TimeText.duration(span), seconds < EpochSeconds.max - now else {
                throw ValidationError("“\(span)” is not a duration; use a form such as 30m, 2h or 1h30m")
            }
            return .until(now + seconds)
        }
        if let until {
            guard let end = TimeText.moment(until, now: now) else {
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

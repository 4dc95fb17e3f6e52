// Arguments that several verbs take: permissions and apps.

public import ArgumentParser
public import PermissionClient

extension Permission: ExpressibleByArgument {
    /// `camera, microphone, bluetooth, location`.
    static let listed = allCases.map(\.rawValue).joined(separator: ", ")
}

/// What rows can be about; portals' questions are not offered in completions.
extension Question: ExpressibleByArgument {
    public init?(argument: String) { self.init(name: argument) }

    public var defaultValueDescription: String { name }

    public static var allValueStrings: [String] { Permission.allCases.map(\.rawValue) }
}

/// What the person called an app, before it is known which one is meant.
struct AppName: ExpressibleByArgument {
    let text: String

    init(_ text: String) { self.text = text }
    init?(argument: String) {
        guard !argument.isEmpty else { return nil }
        text = argument
    }

    /// A whole identity as it is, for an app nobody has seen too; else the one known app whose part after the prefix
    /// is, or contains, that text.
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
                .no, "no app that was asked about or decided for matches “\(text)”; permctl status lists them")
        default:
            let list = matches.map { TerminalText("  \($0)") }.joined(separator: "\n")
            throw Failure(.usage, "“\(text)” may be any of these; name one whole:\n\(list)")
        }
    }

    /// `firefox` of `exe:/usr/bin/firefox`, `Maps` of `flatpak:org.gnome.Maps`.
    private static func lastPart(_ app: AppID) -> String {
        let separator: Character = app.kind == .exe ? "/" : "."
        return app.name.split(separator: separator).last.map(String.init) ?? app.name
    }

    static func known(_ settings: PermissionSettings) async throws -> [AppID] {
        var apps = Set(try await settings.decisions().map(\.app))
        apps.formUnion(try await settings.requests().map(\.app))
        // Those that asked lately; a longer history has nobody else whom people remember by half a name.
        apps.formUnion(try await settings.history(limit: 1000).map(\.app))
        return apps.sorted()
    }
}

/// How long a decision holds.
struct DurationOptions: ParsableArguments {
    @Option(name: .customLong("for"), help: ArgumentHelp("Hold so long: 30m, 2h, 1d.", valueName: "time"))
    var span: String?

    @Option(help: ArgumentHelp("Hold until then: 18:00, 2026-12-24, 2026-12-24T18:00.", valueName: "time"))
    var until: String?

    @Flag(help: "Hold until the login session ends.")
    var session = false

    func validate() throws {
        guard [span != nil, until != nil, session].filter({ $0 }).count <= 1 else {
            throw ValidationError("--for, --until and --session exclude each other")
        }
        _ = try duration()
    }

    func duration(now: EpochSeconds = TimeText.now()) throws -> Duration {
        if session { return .session }
        if let span {
            guard let seconds = TimeText.duration(span), seconds < EpochSeconds.max - now else {
                throw ValidationError("“\(span)” is no duration; 30m, 2h and 1d are")
            }
            return .until(now + seconds)
        }
        if let until {
            guard let end = TimeText.moment(until, now: now) else {
                throw ValidationError("“\(until)” is no time; 18:00, 2026-12-24 and 2026-12-24T18:00 are")
            }
            guard end > now else { throw ValidationError("“\(until)” is over") }
            return .until(end)
        }
        return .always
    }
}

extension Duration {
    /// As a person reads it: `always`, `this session`, `until 18:00`.
    var text: String {
        switch self {
        case .once: "only this time"
        case .session: "this session"
        case .until(let end): "until \(TimeText.short(end))"
        case .always: "always"
        }
    }
}

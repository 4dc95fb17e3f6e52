// Opens the settings program at an app's own page, for the app: a sandbox cannot start it.

import DBus
import PermissionModel
import System

@LoopActor
final class SettingsOpening {
    /// Milliseconds until an app may open its page again: it must not keep the screen with it.
    private static let pause: Int64 = 10_000

    private let connection: Connection
    /// When each app opened its page, within the pause.
    private var opened: [AppID: Int64] = [:]

    init(connection: Connection) { self.connection = connection }

    /// - Parameters:
    ///   - token: Lets the window come to the front (xdg-activation); may be empty.
    ///   - isSeatActive: Whether a person is there.
    func open(
        _ app: AppID, token: String, isSeatActive: Bool,
        then: @escaping @LoopActor (Result<Void, PermissionError>) -> Void
    ) throws(PermissionError) {
        guard isSeatActive else { throw PermissionError(.noAgent, "nobody is in front of the screen") }
        let now = Loop.uptimeMilliseconds()
        opened = opened.filter { now - $0.value < SettingsOpening.pause }
        guard opened[app] == nil else {
            let seconds = SettingsOpening.pause / 1000
            throw PermissionError(.limitExceeded, "the settings of an app open at most once in \(seconds) seconds")
        }
        opened[app] = now
        connection.call(.openSettings(at: app.description, token: token)) { result in
            then(result.map { _ in }.mapError(SettingsOpening.error))
        }
    }

    private static func error(_ error: BusError) -> PermissionError {
        let isMissing = [BusError.Name.serviceUnknown, BusError.Name.nameHasNoOwner].contains(error.name)
        return isMissing
            ? PermissionError(.notSupported, "no settings program is installed")
            : PermissionError(.notSupported, "the settings program could not be opened")
    }
}

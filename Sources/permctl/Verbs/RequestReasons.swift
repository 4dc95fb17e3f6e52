// Why a request of `permctl request` waits, or was answered without a prompt.

import Glibc
import PermissionClient
import PermissionTexts

struct RequestReasons {
    let settings = PermissionSettings()
    /// The last part of the request's path, by which the history tells which app permctl is for permd.
    let token = "permctl\(getpid())"

    /// Why no prompt is on screen although the request waits; nil if one will be.
    func whyItWaits() async -> TerminalText? {
        if (try? await settings.isUserPresent()) == false {
            return "nothing is asked now: the session is locked or in the background; the prompt follows afterwards"
        }
        guard let agents = try? await settings.agents(), agents.isEmpty,
            (try? await settings.canStartAgent()) == false
        else { return nil }
        return "no agent is running to show the prompt; run permctl agent in another terminal"
    }

    /// What decided without a prompt, a line for each permission.
    func whyNothingWasAsked(_ result: RequestResult) async -> [TerminalText] {
        var lines: [TerminalText] = []
        let apps = await ownApps()
        let switches = try? await settings.switches()
        for permission in result.permissions where result[permission] != .granted {
            var rows: [StatusRow] = []
            for app in apps {
                rows += (try? await settings.statuses(app: app.description, permission: permission)) ?? []
            }
            let isOff = switches?[permission] == false
            if let line = line(permission, result[permission], rows, isOff: isOff) { lines.append(line) }
        }
        return lines
    }

    private func line(
        _ permission: Permission, _ status: Status, _ rows: [StatusRow], isOff: Bool
    ) -> TerminalText? {
        let name = permission.rawValue
        switch status {
        case .unavailable:
            guard let problem = rows.first(where: { !$0.problem.isEmpty })?.problem else { return nil }
            return "\(name): nothing was asked, because \(problem); permctl devices shows the devices"
        case .restricted:
            guard let rule = rows.first(where: { $0.rule != nil })?.rule else { return nil }
            return "\(name): nothing was asked, because the administrator's rule \(rule) forbids it"
        case .denied:
            if isOff {
                return "\(name): nothing was asked, because it \(OffVerb.isOff(permission))"
            }
            guard let decision = rows.first(where: { $0.decision?.decision == .deny })?.decision else { return nil }
            return """
                \(name): nothing was asked, because it is denied (\(decision.holds?.text ?? "always")); \
                permctl reset \(ShellWord.quoted("\(decision.app)")) \(name) lets it ask again
                """
        case .undetermined:
            guard let pause = rows.first(where: { $0.decision?.decision == .pause })?.decision else { return nil }
            return """
                \(name): nothing was asked, because it is paused \(pause.holds?.text ?? "for a while") after too many \
                dismissed prompts; permctl reset \(ShellWord.quoted("\(pause.app)")) \(name) lifts the pause
                """
        case .granted: return nil
        }
    }

    /// The app that permctl is for permd: as the history says, or else its executable, because the history combines
    /// repeated requests.
    private func ownApps() async -> [AppID] {
        let history = (try? await settings.history(limit: 100)) ?? []
        let named = history.first { $0.request.hasSuffix("/\(token)") }?.app
        var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
        let length = readlink("/proc/self/exe", &buffer, buffer.count)
        let program = length > 0 ? AppID.executable(buffer[..<length].map { UInt8(bitPattern: $0) }) : nil
        return [named, program].compactMap { $0 }
    }
}

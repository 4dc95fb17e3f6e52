// permctl doctor: is everything there, and what to do if not.

import ArgumentParser
import PermissionClient

struct DoctorVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Look for what is wrong, and say what to do.",
        discussion: "Exits 1 if something is wrong.")

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let findings = await Examination(PermissionSettings()).findings()
        var table = Table("", "about", "finding", "what to do")
        for finding in findings {
            let mark: Cell =
                switch finding.state {
                case .good: Cell("ok", .good)
                case .note: Cell("--", .waiting)
                case .bad: Cell("!!", .bad)
                }
            table.add(mark, Cell(finding.about), Cell(finding.text), Cell(finding.advice))
        }
        try output.print(table, json: findings)
        if findings.contains(where: { $0.state == .bad }) { throw Failure(.no) }
    }
}

struct Finding: Encodable {
    enum State: String, Encodable {
        case good, note, bad
    }

    let state: State
    let about: String
    let text: String
    var advice = ""
}

private struct Examination {
    let settings: PermissionSettings

    init(_ settings: PermissionSettings) { self.settings = settings }

    func findings() async -> [Finding] {
        do {
            let version = try await settings.programVersion()
            var findings = [Finding(state: .good, about: "bus", text: "there is a session bus")]
            findings.append(daemon(version))
            findings += try await agents()
            findings += try await devices()
            findings += try await problems()
            return findings
        } catch let error as ClientError {
            return without(error)
        } catch {
            return [Finding(state: .bad, about: "permctl", text: "\(error)")]
        }
    }

    private func without(_ error: ClientError) -> [Finding] {
        switch error.kind {
        case .noBus:
            return [
                Finding(
                    state: .bad, about: "bus", text: error.message,
                    advice: "log in to a session, or set DBUS_SESSION_BUS_ADDRESS")
            ]
        case .noDaemon:
            return [
                Finding(state: .good, about: "bus", text: "there is a session bus"),
                Finding(
                    state: .bad, about: "permd", text: error.message,
                    advice: "systemctl --user start permd; journalctl --user -u permd says why it does not run"),
            ]
        case .untrustedOwner:
            return [
                Finding(
                    state: .bad, about: "permd", text: error.message,
                    advice: "end that program; then systemctl --user restart permd")
            ]
        default:
            return [
                Finding(
                    state: .bad, about: "permd", text: error.message,
                    advice: "journalctl --user -u permd says more; permctl and permd should be of one version")
            ]
        }
    }

    private func daemon(_ version: String) -> Finding {
        guard version == Permctl.version else {
            return Finding(
                state: .note, about: "permd", text: "version \(version) runs, this is permctl \(Permctl.version)",
                advice: "systemctl --user restart permd, if it was updated")
        }
        return Finding(state: .good, about: "permd", text: "version \(version) runs")
    }

    private func agents() async throws -> [Finding] {
        let agents = try await settings.agents()
        guard !agents.isEmpty else {
            if try await settings.canStartAgent() {
                return [Finding(state: .good, about: "agent", text: "the bus starts one when a prompt is due")]
            }
            return [
                Finding(
                    state: .bad, about: "agent", text: "nobody is there to show a prompt",
                    advice: "run permctl agent in a terminal, or install the desktop's agent")
            ]
        }
        return agents.map { agent in
            guard agent.failures > 0 else {
                return Finding(state: .good, about: "agent", text: "\(agent.level.rawValue) agent \(agent.owner)")
            }
            return Finding(
                state: .note, about: "agent",
                text: "\(agent.level.rawValue) agent \(agent.owner) failed \(agent.failures) in a row",
                advice: "restart it; at \(Limits.agentFailures) it is not asked any more")
        }
    }

    private func devices() async throws -> [Finding] {
        let devices = try await settings.devices()
        return Permission.allCases.flatMap { permission -> [Finding] in
            let own = devices.filter { $0.permission == permission }
            guard !own.isEmpty else {
                // A machine without a camera is not ill.
                return [Finding(state: .note, about: permission.rawValue, text: "no device is there")]
            }
            return own.map { device in
                let name = device.node.isEmpty ? device.name : "\(device.name) (\(device.node))"
                guard device.isUsable else {
                    return Finding(
                        state: .bad, about: permission.rawValue, text: "\(name): \(device.problem)",
                        advice: Examination.advice(for: device))
                }
                return Finding(state: .good, about: permission.rawValue, text: name)
            }
        }
    }

    private static func advice(for device: DeviceRow) -> String {
        switch device.permission {
        case .bluetooth: "rfkill unblock bluetooth, or the switch on the machine"
        case .location where device.node.isEmpty: "start GeoClue, or look at its configuration"
        default: "log in at the machine itself, or join the group that owns \(device.node)"
        }
    }

    private func problems() async throws -> [Finding] {
        let problems = try await settings.problems()
        let findings = problems.map { problem in
            let place =
                problem.file.isEmpty ? "" : problem.line > 0 ? "\(problem.file):\(problem.line): " : "\(problem.file): "
            return Finding(
                // Without udev only hotplug is missing.
                state: problem.about == "devices" ? .note : .bad, about: problem.about, text: place + problem.problem,
                advice: problem.advice)
        }
        let healthy = ["store", "policy", "settings"].filter { about in !problems.contains { $0.about == about } }
        let texts = ["store": "whole and writable", "policy": "every rule file is good", "settings": "good"]
        return healthy.map { Finding(state: .good, about: $0, text: texts[$0] ?? "good") } + findings
    }
}

// permctl doctor: checks the installation and says how to fix what is wrong.

import ArgumentParser
import PermissionClient

struct DoctorVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Check for problems, and say how to fix them.",
        discussion: "Exits 1 if a problem is found.")

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
            findings += try await enforcementPoints()
            findings.append(Examination.portals())
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
                    advice: "run systemctl --user start permd; if that fails, see journalctl --user -u permd"),
            ]
        case .untrustedOwner:
            return [
                Finding(
                    state: .bad, about: "permd", text: error.message,
                    advice: "end that program, then run systemctl --user restart permd")
            ]
        default:
            return [
                Finding(
                    state: .bad, about: "permd", text: error.message,
                    advice: "see journalctl --user -u permd; permctl and permd should be the same version")
            ]
        }
    }

    private func daemon(_ version: String) -> Finding {
        guard version == Permctl.version else {
            return Finding(
                state: .note, about: "permd", text: "version \(version) is running, but permctl is \(Permctl.version)",
                advice: "if permd was updated, run systemctl --user restart permd")
        }
        return Finding(state: .good, about: "permd", text: "version \(version) is running")
    }

    private func agents() async throws -> [Finding] {
        let agents = try await settings.agents()
        guard !agents.isEmpty else {
            if try await settings.canStartAgent() {
                return [Finding(state: .good, about: "agent", text: "the bus starts one when a prompt is due")]
            }
            return [
                Finding(
                    state: .bad, about: "agent", text: "no agent is running to show prompts",
                    advice: "run permctl agent in a terminal, or install the desktop's agent")
            ]
        }
        return agents.map { agent in
            guard agent.failures > 0 else {
                return Finding(state: .good, about: "agent", text: "\(agent.level.rawValue) agent \(agent.owner)")
            }
            return Finding(
                state: .note, about: "agent",
                text: "\(agent.level.rawValue) agent \(agent.owner), failures in a row: \(agent.failures)",
                advice: "restart it; after \(Limits.agentFailures) failures in a row permd stops using it")
        }
    }

    private func enforcementPoints() async throws -> [Finding] {
        let points = try await settings.enforcementPoints()
        let running = points.map {
            Finding(state: .good, about: "enforcement", text: "\($0.app) is connected as \($0.owner)")
        }
        let programs = points.compactMap { $0.app.name.split(separator: "/").last.map(String.init) }
        let absent = UserUnits.enforcementPoints.filter { !programs.contains($0) && UserUnits.isInstalled($0) }
        return running
            + absent.map {
                Finding(
                    state: .bad, about: "enforcement", text: "\($0) is installed, but not connected",
                    advice: "run systemctl --user start \($0); if that fails, see journalctl --user -u \($0)")
            }
    }

    /// Whether portals come through permd. That they do not is no problem: it is a choice.
    private static func portals() -> Finding {
        let about = "portals"
        do throws(Failure) {
            let portal = try PortalSwitch()
            let file = portal.state.path.map { ", as \($0) says" } ?? ""
            guard portal.state.isPermd else {
                return Finding(
                    state: .note, about: about, text: "portals ask with the desktop's own dialogs\(file)",
                    advice: "run permctl portal enable to let them ask through permd")
            }
            guard portal.findsBackend else {
                return Finding(
                    state: .bad, about: about,
                    text: "portals should ask through permd\(file), but xdg-desktop-portal does not find permd.portal",
                    advice: "install permd again, or run permctl portal disable")
            }
            return Finding(state: .good, about: about, text: "portals ask through permd\(file)")
        } catch {
            return Finding(state: .note, about: about, text: error.message.text)
        }
    }

    private func devices() async throws -> [Finding] {
        let devices = try await settings.devices()
        return Permission.allCases.flatMap { permission -> [Finding] in
            let own = devices.filter { $0.permission == permission }
            guard !own.isEmpty else {
                // A missing device is not a problem: many machines have no camera.
                return [Finding(state: .note, about: permission.rawValue, text: "no device was found")]
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
        case .bluetooth: "run rfkill unblock bluetooth, or use the switch on the machine"
        case .location where device.node.isEmpty: "start GeoClue, or check its configuration"
        default: "log in at the machine itself, or join the group that owns \(device.node)"
        }
    }

    private func problems() async throws -> [Finding] {
        let problems = try await settings.problems()
        let findings = problems.map { problem in
            let place =
                problem.file.isEmpty ? "" : problem.line > 0 ? "\(problem.file):\(problem.line): " : "\(problem.file): "
            return Finding(
                // Without udev, only hotplug is missing.
                state: ["devices", "usage"].contains(problem.about) ? .note : .bad, about: problem.about,
                text: place + problem.problem,
                advice: problem.advice)
        }
        let healthy = ["store", "policy", "settings"].filter { about in !problems.contains { $0.about == about } }
        let texts = ["store": "intact and writable", "policy": "every rule file is valid", "settings": "valid"]
        return healthy.map { Finding(state: .good, about: $0, text: texts[$0] ?? "good") } + findings
    }
}

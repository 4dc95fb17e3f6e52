// permctl doctor: checks the installation and says how to fix what is wrong.

import ArgumentParser
import DesktopServices
import Glibc
import PermissionClient
import PolicyFiles
import System

struct DoctorVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Check for problems, and say how to fix them.",
        discussion: "Exits 1 if a problem is found.")

    @OptionGroup var output: OutputOptions

    func run() async throws {
        let findings = await Examination(settings: PermissionSettings()).findings()
        try output.list(findings, ["", "about", "finding", "what to do"], empty: "", json: findings.map(\.record)) {
            [$0.mark, Cell($0.about), Cell($0.wholeText), Cell($0.advice)]
        }
        if !output.json, let first = Examination.first(findings) { Output.line("\nFirst: \(first)") }
        if findings.contains(where: { $0.state == .bad }) { throw Failure(.no) }
    }
}

struct Finding {
    enum State: String {
        case good, bad
        /// Nothing has to be done.
        case information = "note"
    }

    let state: State
    /// The kind of finding, in a word that does not change. It begins with what the finding is about.
    let code: String
    let text: String
    let advice: String
    var file = ""
    var line = 0

    init(_ state: State, _ code: String, _ text: String, advice: String = "") {
        (self.state, self.code, self.text, self.advice) = (state, code, text, advice)
    }

    func at(_ file: String, _ line: Int) -> Finding {
        var finding = self
        (finding.file, finding.line) = (file, line)
        return finding
    }

    var about: String { String(code.prefix { $0 != "-" }) }

    /// The text with its place in a file, if it has one.
    var wholeText: String { file.isEmpty ? text : "\(FileProblem.place(file, line)): \(text)" }

    var mark: Cell {
        switch state {
        case .good: Cell("ok", .good)
        case .information: Cell("--", .waiting)
        case .bad: Cell("!!", .bad)
        }
    }

    var record: Record {
        [
            "state": state.rawValue, "code": code, "about": about, "text": text, "advice": advice,
            "file": file.isEmpty ? nil : file, "line": line == 0 ? nil : line,
        ]
    }
}

struct Examination {
    let settings: PermissionSettings

    /// What findings are about, in the order in which it is put right: what asks, then what brings apps to it.
    private static let order = ["bus", "permd", "agent", "gnome", "portals", "enforcement", "guard", "gate"]

    /// What to do first; nil if nothing has to be done.
    static func first(_ findings: [Finding]) -> TerminalText? {
        let open = findings.filter { $0.state == .bad || SetupStep($0) != nil }
        let place = { (finding: Finding) in order.firstIndex(of: finding.about) ?? order.count }
        guard let first = open.min(by: { place($0) < place($1) }) else { return nil }
        guard SetupStep(first) != nil else { return TerminalText(first.advice) }
        let steps = open.compactMap { SetupStep($0)?.subject }.joined(separator: ", ")
        return "run permctl setup (\(steps))"
    }

    func findings() async -> [Finding] {
        let bus = Finding(.good, "bus", "there is a session bus")
        do throws(ClientError) {
            let version = daemon(try await settings.programVersion())
            let problems = try await settings.problems()
            let (agents, points) = (try await agents(problems), try await enforcementPoints())
            let shell = Finding.about(await settings.gnomeShell())
            let findings = [bus, version] + agents + shell + Examination.display() + points
            let systemPoints = Finding.about(await DeviceGuard.find()) + Finding.about(await ServiceGate.find())
            return findings + systemPoints + [Examination.portals()] + (try await devices())
                + Examination.files(problems) + Examination.notes()
        } catch {
            return error.kind == .noBus
                ? [
                    Finding(
                        .bad, "bus-missing", error.message,
                        advice: "log in to a session, or set DBUS_SESSION_BUS_ADDRESS")
                ]
                : [bus, Examination.unreachable(error)]
        }
    }

    private static func unreachable(_ error: ClientError) -> Finding {
        switch error.kind {
        case .noDaemon: Finding(.bad, "permd-missing", error.message, advice: UserUnits.startAdvice("permd"))
        case .untrustedOwner:
            Finding(.bad, "permd-untrusted", error.message, advice: "end that program, then \(UserUnits.restartPermd)")
        default:
            Finding(
                .bad, "permd-failed", error.message,
                advice: "see permd's log; permctl and permd should be the same version")
        }
    }

    private func daemon(_ version: String) -> Finding {
        guard version == Permctl.version else {
            return Finding(
                .bad, "permd-version", "version \(version) is running, but permctl is \(Permctl.version)",
                advice: "if permd was updated, \(UserUnits.restartPermd)")
        }
        return Finding(.good, "permd", "version \(version) is running")
    }

    private func agents(_ problems: [Problem]) async throws(ClientError) -> [Finding] {
        let agents = try await settings.agents()
        guard agents.isEmpty else {
            return agents.map { agent in
                let name = "\(agent.level.rawValue) agent \(agent.owner)"
                guard agent.failures > 0 else { return Finding(.good, "agent", name) }
                return Finding(
                    .information, "agent-failing", "\(name), failures in a row: \(agent.failures)",
                    advice: "restart it; after \(Limits.agentFailures) failures in a row permd stops using it")
            }
        }
        // Those of the daemon say why a prompt was not shown.
        guard !problems.contains(where: { $0.about == "agent" }) else { return [] }
        guard try await settings.canStartAgent() else {
            return [
                Finding(
                    .bad, "agent-missing", "no agent is running to show prompts",
                    advice: "run permctl agent in a terminal, or install the desktop's agent")
            ]
        }
        return [Finding(.good, "agent", "the bus starts one when a prompt is due")]
    }

    /// A property of X11, which only another session mends.
    private static func display() -> [Finding] {
        let isSet = { (name: String) in getenv(name).map { $0.pointee != 0 } ?? false }
        guard isSet("DISPLAY"), !isSet("WAYLAND_DISPLAY") else { return [] }
        return [
            Finding(
                .information, "display-x11",
                "on X11, any app that reaches the display can read, cover and move windows, prompts included",
                advice: "log in to a Wayland session")
        ]
    }

    private func enforcementPoints() async throws(ClientError) -> [Finding] {
        let points = try await settings.enforcementPoints()
        let programs = points.compactMap { $0.app.name.split(separator: "/").last.map(String.init) }
        return points.map { Finding(.good, "enforcement", "\($0.app) is connected as \($0.owner)") }
            + UserUnits.enforcementPoints.filter { !programs.contains($0) && UserUnits.isInstalled($0) }.map {
                Finding(
                    .bad, "enforcement-missing", "\($0) is installed, but not connected",
                    advice: UserUnits.startAdvice($0))
            }
    }

    /// Whether portals come through permd. That they do not is no problem: it is a choice.
    private static func portals() -> Finding {
        do throws(Failure) {
            let portal = try PortalSwitch()
            let file = portal.state.path.map { ", as \($0) says" } ?? ""
            guard portal.state.isPermd else {
                return Finding(
                    .information, "portals-off", "portals ask with the desktop's own dialogs\(file)",
                    advice: "run permctl portal enable to let them ask through permd")
            }
            guard portal.findsBackend else {
                return Finding(
                    .bad, "portals-lost",
                    "portals should ask through permd\(file), but xdg-desktop-portal does not find permd.portal",
                    advice: "install permd again, or run permctl portal disable")
            }
            return Finding(.good, "portals", "portals ask through permd\(file)")
        } catch {
            return Finding(.information, "portals-unknown", error.message.text)
        }
    }

    private func devices() async throws(ClientError) -> [Finding] {
        let devices = try await settings.devices()
        return Permission.allCases.flatMap { permission -> [Finding] in
            let own = devices.filter { $0.permission == permission }
            // A missing device is not a problem: many machines have no camera.
            guard !own.isEmpty else {
                return [Finding(.information, "\(permission.rawValue)-missing", "no device was found")]
            }
            return own.map { device in
                let name = device.node.isEmpty ? device.name : "\(device.name) (\(device.node))"
                guard !device.isUsable else {
                    let remark = device.problem.isEmpty ? "" : ", \(device.problem)"
                    return Finding(.good, permission.rawValue, name + remark)
                }
                return Finding(
                    .bad, "\(permission.rawValue)-unusable", "\(name): \(device.problem)",
                    advice: Examination.advice(device))
            }
        }
    }

    private static func advice(_ device: DeviceRow) -> String {
        switch device.permission {
        case .bluetooth: "run rfkill unblock bluetooth, or use the switch on the machine"
        case .location where device.node.isEmpty: "start GeoClue, or check its configuration"
        default: "log in at the machine itself, or join the group that owns \(device.node)"
        }
    }

    /// What the daemon has found, and what it has not.
    private static func files(_ problems: [Problem]) -> [Finding] {
        let healthy = [
            ("store", "intact and writable"), ("policy", "every rule file is valid"), ("settings", "valid"),
        ].filter { about, _ in !problems.contains { $0.about == about } }
        return healthy.map { Finding(.good, $0.0, $0.1) }
            + problems.map { problem in
                // Without udev, only hotplug is missing.
                let state: Finding.State = ["devices", "usage"].contains(problem.about) ? .information : .bad
                return Finding(state, problem.code, problem.problem, advice: problem.advice)
                    .at(problem.file, problem.line)
            }
    }

    /// What permd reads without an error, but looks like a mistake.
    private static func notes() -> [Finding] {
        FileCheck.machine(root: "/").flatMap { file in
            file.notes.map {
                Finding(.information, "policy-note", $0.message, advice: "correct or remove it").at(file.path, $0.line)
            }
        }
    }
}

// Collects the current problems of all components.

import PermissionCore
import PermissionModel
import PolicyFiles

extension Coordinator {
    func problems() -> [Problem] {
        var problems = store.queue.problems.map {
            Problem(
                code: "store", text: $0,
                advice: "check the folder's free space and owner; permctl export saves the current decisions")
        }
        if store.isFull {
            problems.append(
                Problem(
                    code: "store-full",
                    text:
                        "\(store.maximum) decisions are stored, the most there can be; answers of apps without one hold for the asking process only",
                    advice: "remove decisions that are not needed with permctl reset"))
        }
        problems += policy.problems.map {
            let about = $0.file.split(separator: "/").contains { $0 == "policy.d" } ? "policy" : "settings"
            return Problem(
                code: "\(about)-file", file: $0.file, line: $0.line,
                text: SafeText.line($0.message), advice: "correct the file; it is read again when it changes")
        }
        problems += devices.problems.map {
            Problem(code: "devices", text: $0, advice: "permctl devices lists the known devices")
        }
        problems += usage.problems.map {
            Problem(code: "usage", text: $0, advice: "permd tries again; if rights are missing, log in on the seat")
        }
        problems += systemPoints.problems.map {
            Problem(code: "guard-refused", text: $0.text, advice: $0.advice)
        }
        if let usurper = agentStarter.usurper {
            problems.append(
                Problem(
                    code: "agent-name-taken",
                    text: "a program has taken \(BusNames.agentService), the name of the prompts: \(usurper)",
                    advice: "end that program; agents are started by their unit meanwhile"))
        }
        return problems + (queue.agentTrouble.map { [Problem($0)] } ?? [])
    }
}

extension Problem {
    fileprivate init(_ trouble: AgentTrouble) {
        switch trouble {
        case .notStarted(let why):
            self.init(
                code: "agent-not-started",
                text: "a prompt was due, but the bus could not start an agent: \(SafeText.line(why))",
                advice: "run permctl agent in a terminal; permd-agent needs a display")
        case .failed(let agent, let why):
            self.init(
                code: "agent-failed",
                text: "the agent of \(agent.connection) failed the last prompt: \(SafeText.line(why))",
                advice: "restart it, or run permctl agent in a terminal")
        }
    }
}

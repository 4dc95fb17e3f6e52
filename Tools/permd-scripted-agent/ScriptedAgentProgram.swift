// Registers a scripted agent, and prints the prompts and its answers.

import DBus
import Glibc
import PermissionModel
import PermissionTestKit

enum ScriptedAgentProgram {
    static let usage = """
        Usage: permd-scripted-agent ANSWER…
        Answers prompts in order; the last ANSWER is repeated for all further prompts.
          once, session, always, deny, dismiss, wait, die

        """

    static func main() {
        var replies: [Reply] = []
        for word in CommandLine.arguments.dropFirst() {
            guard let reply = known[word] else {
                print(usage, terminator: "")
                exit(word == "--help" ? 0 : 64)
            }
            replies.append(reply)
        }
        guard let last = replies.last else {
            print(usage, terminator: "")
            exit(64)
        }
        let script = replies
        Loop.shared.adoptCurrentThread()
        Loop.shared.post { Task(executorPreference: Loop.shared) { await run(script, last) } }
        Loop.shared.run()
    }

    /// A reply, and its text in the output.
    private typealias Reply = (reply: ScriptedAgent.Reply, text: String)

    private static let known: [String: Reply] = [
        "once": (.grant(.once), "Allow this time"),
        "session": (.grant(.session), "Allow until I log out"),
        "always": (.grant(.always), "Always allow"),
        "deny": (.deny(.always), "Never allow"),
        "dismiss": (.dismiss, "Not now"),
        "wait": (.wait, "no answer"),
        "die": (.die, "disconnects"),
    ]

    @LoopActor
    private static func run(_ script: [Reply], _ last: Reply) async {
        do {
            let connection = try Connection.open(.session)
            connection.onDisconnect { exit(0) }
            let agent = ScriptedAgent(connection, script.map(\.reply), otherwise: last.reply)
            try await agent.register(level: .fallback)
            say("ready")
            Task(executorPreference: Loop.shared) { await reportWithdrawals(agent) }
            for number in 0... {
                while agent.prompts.all.count <= number { await agent.prompts.next() }
                let prompt = agent.prompts.all[number]
                let reply = number < script.count ? script[number] : last
                say("prompt \(number + 1): \(describe(prompt)) → \(reply.text)")
            }
        } catch {
            say("error: \(error)")
            exit(69)
        }
    }

    @LoopActor
    private static func reportWithdrawals(_ agent: ScriptedAgent) async {
        var reported = 0
        while true {
            await agent.withdrawals.next()
            for withdrawal in agent.withdrawals.all[reported...] { say("withdrawn: \(withdrawal.why)") }
            reported = agent.withdrawals.all.count
        }
    }

    private static func describe(_ prompt: ScriptedAgent.Prompt) -> String {
        let name = prompt.details["app_name"]?.stringValue ?? prompt.app
        let reason = prompt.items.first?["reason"]?.stringValue ?? ""
        let why = reason.isEmpty ? "" : ", “\(reason)”"
        let waiting = prompt.details["waiting"]?.uint32Value ?? 0
        let what = prompt.questions.map(\.name).joined(separator: ", ")
        return "\(name) wants \(what)\(why); \(waiting) wait behind it"
    }

    private static func say(_ line: String) {
        var text = line + "\n"
        text.withUTF8 { _ = write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }
}

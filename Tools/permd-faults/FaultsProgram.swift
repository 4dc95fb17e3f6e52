// Parses the arguments, runs the faults, and reports the result of each.

import DBus
import Glibc
import PermissionTestKit

enum FaultsProgram {
    private static let usage = """
        Usage: permd-faults [--seed N] [--short] FAULT…
        Each FAULT is one of: \(faults.joined(separator: " "))

        """

    private static let faults = [
        "kill", "disk", "damage", "messages", "dying", "flood", "hostile", "forged", "limits", "away",
        "sound", "hung", "cut", "costly",
    ]

    struct Options: Sendable {
        var seed: UInt64 = 0
        var isShort = false
        var faults: [String] = []
    }

    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        Loop.shared.adoptCurrentThread()
        let work: @Sendable @LoopActor () async -> Int32
        if arguments.count > 2, ["hung-caller", "caller-once"].contains(arguments[1]) {
            work = { await HungCaller.main(arguments) }
        } else if arguments.first == "caller" {
            work = { await RandomCaller.main(Array(arguments.dropFirst())) }
        } else if arguments.first == "attacker" {
            exit(Attacker.main(Array(arguments.dropFirst())))
        } else if arguments.first == "flooder" {
            work = { await Flooder.main() }
        } else if arguments.first == "unread-flooder", arguments.count == 2 {
            exit(UnreadFlooder.main(arguments[1]))
        } else if arguments.first == "costly-caller", arguments.count == 2 {
            exit(CostlyCaller.main(arguments[1]))
        } else if let options = parse(arguments) {
            work = { await run(options) }
        } else {
            print(usage, terminator: "")
            exit(arguments == ["--help"] ? 0 : 64)
        }
        Loop.shared.post { Task(executorPreference: Loop.shared) { exit(await work()) } }
        Loop.shared.run()
    }

    private static func parse(_ arguments: [String]) -> Options? {
        var options = Options()
        var rest = arguments[...]
        while let word = rest.popFirst() {
            switch word {
            case "--seed":
                guard let seed = rest.popFirst().flatMap({ UInt64($0) }) else { return nil }
                options.seed = seed
            case "--short": options.isShort = true
            default:
                guard faults.contains(word) else { return nil }
                options.faults.append(word)
            }
        }
        return options.faults.isEmpty ? nil : options
    }

    @LoopActor
    private static func run(_ options: Options) async -> Int32 {
        var lost = 0
        do {
            let devices = try await MockDevices()
            for kind in [MockDevices.Kind.camera, .microphone, .gnss] { try await devices.add(kind, 0) }
            for fault in options.faults {
                let report = await run(fault, options, devices)
                report.finish()
                lost += report.losses.count
            }
            await devices.end()
        } catch {
            Report.say("permd-faults: \(error)")
            return 1
        }
        return lost == 0 ? 0 : 1
    }

    @LoopActor
    private static func run(_ fault: String, _ options: Options, _ devices: MockDevices) async -> Report {
        let seed = options.seed
        func count(_ long: Int, short: Int) -> Int { options.isShort ? short : long }
        switch fault {
        case "kill": return await KillFault(seed, rounds: count(1000, short: 60), devices).run()
        case "disk": return await DiskFault(seed, rounds: count(45, short: 6), devices).run()
        case "damage": return await DamageFault(seed, rounds: count(500, short: 50), devices).run()
        case "messages": return await MessageFault(seed, calls: count(12_000, short: 1_200), devices).run()
        case "dying": return await DyingFault(seed, rounds: count(1000, short: 50), devices).run()
        case "hostile": return await HostileFault(seed, .everything, seconds: count(120, short: 10), devices).run()
        case "forged": return await HostileFault(seed, .forgeries, seconds: count(30, short: 4), devices).run()
        case "limits": return await LimitsFault(seed, rounds: count(10, short: 2), devices).run()
        case "away": return await AwayFault(seed, rounds: count(200, short: 20), devices).run()
        case "sound": return await SoundFault(seed, rounds: count(100, short: 12)).run()
        case "cut": return await CutFault(seed, rounds: count(40, short: 4), devices).run()
        case "hung": return await HungFault(rounds: count(5, short: 2)).run()
        case "costly": return await CostlyFault(seconds: Int64(count(8, short: 3)), devices).run()
        default: return await FloodFault(seed, rounds: count(5, short: 3), devices).run()
        }
    }
}

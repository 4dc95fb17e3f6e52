// Parses the arguments, runs the faults, and reports the result of each.

import DBus
import Glibc
import PermissionTestKit

enum FaultsProgram {
    private static let usage = """
        Usage: permd-faults [--seed N] [--short] FAULT…
        Each FAULT is one of: \(faults.joined(separator: " "))

        """

    private static let faults = ["kill", "disk", "damage", "sound", "hostile", "limits", "hung", "costly"]

    struct Options: Sendable {
        var seed: UInt64 = 0
        var isShort = false
        var faults: [String] = []
    }

    static func main() {
        let arguments = Array(CommandLine.arguments.dropFirst())
        Loop.shared.adoptCurrentThread()
        let work: @Sendable @LoopActor () async -> Int32
        if arguments.count == 4, ["hung-caller", "caller"].contains(arguments[1]) {
            work = { await HungCaller.main(arguments) }
        } else if arguments.first == "attacker" {
            exit(Attacker.main(Array(arguments.dropFirst())))
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
        case "sound": return await SoundFault(seed, rounds: count(100, short: 12)).run()
        case "hostile": return await HostileFault(seed, seconds: count(120, short: 10), devices).run()
        case "limits": return await LimitsFault(seed, rounds: count(10, short: 2), devices).run()
        case "hung": return await HungFault(rounds: count(3, short: 1)).run()
        default: return await CostlyFault(seed, seconds: count(8, short: 3), devices).run()
        }
    }
}

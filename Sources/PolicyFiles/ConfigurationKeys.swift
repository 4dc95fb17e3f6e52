// The keys of the configuration files: permd.conf(5), and guard.conf of permd-guard(8).

package import PermissionModel

/// No one waits longer than a day for a prompt; more than a million requests do not fit into a desktop's memory.
extension Configuration: FileConfiguration {
    package static let keys: [ConfigurationKey<Configuration>] = [
        .number("Prompts", "AgentWaitSec", 1...86_400) { $0.agentWait = $1 },
        .number("Prompts", "TimeoutSec", 1...86_400) { $0.promptTimeout = $1 },
        .number("Prompts", "NagLimit", 1...Int64(Configuration.maximumNagLimit)) { $0.nagLimit = Int($1) },
        .number("Prompts", "NagPauseSec", 1...31_536_000) { $0.nagPause = $1 },
        .number("Limits", "WaitingPerApp", 1...1_000_000) { $0.waitingPerApp = Int($1) },
        .number("Limits", "Waiting", 1...1_000_000) { $0.waiting = Int($1) },
        .number("History", "MaxRows", 0...10_000_000) { $0.historyRows = Int($1) },
        .number("History", "MaxDays", 0...36_500) { $0.historyDays = Int($1) },
        .number("Decisions", "UnusedDays", 0...36_500) { $0.unusedDays = Int($1) },
        .word("Enforcement", "Ask") { $0.ask = $1 },
        .word("Indicator", "Enabled") { $0.indicator = $1 },
    ]
}

/// Nobody waits longer than a minute for a permd that has crashed.
extension GuardConfiguration: FileConfiguration {
    package static let keys: [ConfigurationKey<GuardConfiguration>] = [
        .word("Guard", "WithoutPermd") { $0.withoutPermd = $1 },
        .number("Guard", "WaitForPermdSec", 0...60) { $0.waitForPermd = Int($1) },
        .paths("Guard", "Pass") { $0.passing.formUnion($1) },
    ]
}

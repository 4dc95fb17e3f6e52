// permctl off and permctl on: switch a permission off for every app, and on again.

import ArgumentParser
import PermissionClient

struct OffVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "off", abstract: "Switch a permission off for every app, whatever was decided.")

    @Argument(help: "The permission.")
    var permission: Permission
    @Flag(help: "Print JSON.")
    var json = false

    /// What is said of a permission that is off.
    static func isOff(_ permission: Permission) -> TerminalText {
        "is off for every app; permctl on \(permission.rawValue) switches it on"
    }

    static func record(_ permission: Permission, isOn: Bool) -> Record {
        ["permission": permission.rawValue, "on": isOn]
    }

    func run() async throws {
        try await PermissionSettings().setSwitch(permission, on: false)
        if json { return try Output.json(OffVerb.record(permission, isOn: false)) }
        Output.line("\(permission.rawValue) \(OffVerb.isOff(permission))")
        // What the system itself has connected is nobody's request.
        guard permission == .bluetooth else { return }
        Output.line(
            "headsets, mice and keyboards that are connected go on; rfkill block bluetooth switches the radio off")
    }
}

struct OnVerb: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "on", abstract: "Switch a permission on again; earlier decisions are in force again.")

    @Argument(help: "The permission.")
    var permission: Permission
    @Flag(help: "Print JSON.")
    var json = false

    func run() async throws {
        try await PermissionSettings().setSwitch(permission, on: true)
        if json { return try Output.json(OffVerb.record(permission, isOn: true)) }
        Output.line("\(permission.rawValue) is on; apps may use it as decided")
    }
}

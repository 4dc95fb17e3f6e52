// The panels of desktops: the list of windows, and the indicator in the tray.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit
import TestSupport
import Testing

@LoopActor
struct Panel {
    private let process: ChildProcess
    /// Its name for assistive technology.
    let program: String
    /// Where the indicator's icon is.
    let icon: (x: Int, y: Int)
    /// Whether it lists the prompt.
    let listsPrompt: Bool
    /// Whether its menus get keys; otherwise assistive technology reaches them.
    let menusGetKeys: Bool

    static func waybar(on stage: Session) throws -> Panel {
        let configuration = """
            {"height": 32, "modules-left": ["wlr/taskbar"], "modules-right": ["tray"], "tray": {"icon-size": 20},
                "wlr/taskbar": {"format": "{icon} {title}"}}
            """
        let file = try stage.folder.write(configuration, to: "waybar.json")
        let style = try stage.folder.write(
            "#waybar { background: #ddd; }", to: "waybar.css")
        let process = try ChildProcess(
            "waybar", ["--config", file, "--style", style], environment: stage.environment, standardOutput: .null,
            standardError: .null)
        return Panel(process: process, program: "waybar", icon: (1262, 16), listsPrompt: false, menusGetKeys: false)
    }

    static func xfce(on stage: Session) async throws -> Panel {
        try await stage.allowActivation("org.xfce.Xfconf", ["/usr/lib/x86_64-linux-gnu/xfce4/xfconf/xfconfd"])
        let settings = "\(stage.environment["XDG_CONFIG_HOME"] ?? "")/xfce4/xfconf/xfce-perchannel-xml"
        try FileManager.default.createDirectory(atPath: settings, withIntermediateDirectories: true)
        let text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <channel name="xfce4-panel" version="1.0">
              <property name="configver" type="int" value="2"/>
              <property name="panels" type="array">
                <value type="int" value="1"/>
                <property name="panel-1" type="empty">
                  <property name="position" type="string" value="p=6;x=0;y=0"/>
                  <property name="position-locked" type="bool" value="true"/>
                  <property name="length" type="uint" value="100"/>
                  <property name="size" type="uint" value="32"/>
                  <property name="plugin-ids" type="array">
                    <value type="int" value="1"/>
                    <value type="int" value="2"/>
                    <value type="int" value="3"/>
                  </property>
                </property>
              </property>
              <property name="plugins" type="empty">
                <property name="plugin-1" type="string" value="tasklist"/>
                <property name="plugin-2" type="string" value="separator">
                  <property name="expand" type="bool" value="true"/>
                  <property name="style" type="uint" value="0"/>
                </property>
                <property name="plugin-3" type="string" value="systray">
                  <property name="square-icons" type="bool" value="true"/>
                  <property name="symbolic-icons" type="bool" value="true"/>
                </property>
              </property>
            </channel>

            """
        try text.write(toFile: "\(settings)/xfce4-panel.xml", atomically: false, encoding: .utf8)
        let process = try ChildProcess(
            "xfce4-panel", ["--disable-wm-check"], environment: stage.environment, standardOutput: .null,
            standardError: .null)
        return Panel(process: process, program: "xfce4-panel", icon: (1264, 16), listsPrompt: true, menusGetKeys: true)
    }

    func end() { process.terminate() }
}

extension Situation {
    private static let app = "flatpak:org.example.Video"

    /// The panel lists the editor, and the prompt only if that is a window like others there. While an app uses the microphone its tray has an
    /// icon, whose menu stops that.
    static func panel(_ stage: DesktopStage, _ open: (DesktopStage) async throws -> Panel) async throws {
        let desk = try stage.permd.bus.connect()
        try stage.installEntry()
        let panel = try await open(stage)
        try await stage.until("the tray") {
            try await watcher(desk, "IsStatusNotifierHostRegistered") == .bool(true)
        }
        let (editor, app) = try await beginWithinDesktop(stage)
        _ = try await stage.prompt()
        try await stage.until("the list of windows") { try await listed(panel.program, "Text editor", stage) }
        #expect(try await listed(panel.program, "Permission", stage) == panel.listsPrompt)
        try await stage.picture("name")
        try await clickNotNow(stage, app)

        let indicator = try ChildProcess(BuiltProgram.path("permd-indicator"), environment: stage.environment)
        let details: [String: Value] = ["source": .string("test"), "device_name": .string("Headset")]
        _ = try await desk.call(
            .call(
                destination: BusNames.service, path: BusNames.root, interface: BusNames.enforcement,
                member: "ReportUse",
                [.variant(.string(Situation.app)), .string("microphone"), .properties(details)]))
        try await stage.until("the icon") {
            try await watcher(desk, "RegisteredStatusNotifierItems")?.strings?.isEmpty == false
        }
        // Its second entry is Stop.
        try await stage.until("the refusal") {
            // That of the menu before.
            if try await isRefused(desk) { return true }
            try await stage.openMenu(panel.icon.x, panel.icon.y)
            try await stage.picture("indicator")
            if panel.menusGetKeys {
                try await stage.key("Down")
                try await stage.key("Return")
            } else {
                try await stage.press("Stop \u{2068}org.example.Video\u{2069}", role: "menu item", of: panel.program)
            }
            return try await isRefused(desk)
        }
        indicator.terminate()
        editor.end()
        panel.end()
        desk.close()
        await stage.end()
    }

    private static func listed(_ program: String, _ title: String, _ stage: DesktopStage) async throws -> Bool {
        try await stage.widgets(of: program).contains { ($0.name + $0.description).contains(title) }
    }

    private static func isRefused(_ desk: Connection) async throws -> Bool {
        let rows = try await desk.call(
            .call(
                destination: BusNames.service, path: BusNames.root, interface: BusNames.policy,
                member: "ListDecisions", [.properties([:])])
        ).body.first?.rows
        return rows?.first?["app"] == .string(Situation.app) && rows?.first?["decision"] == .string("deny")
    }

    /// A property of the tray; nil without one.
    private static func watcher(_ desk: Connection, _ property: String) async throws -> Value? {
        let watcher = "org.kde.StatusNotifierWatcher"
        let reply = try? await desk.call(
            .call(
                destination: watcher, path: "/StatusNotifierWatcher", interface: StandardInterfaces.properties,
                member: "Get", [.string(watcher), .string(property)]))
        guard case .variant(let value)? = reply?.body.first else { return nil }
        return value
    }
}

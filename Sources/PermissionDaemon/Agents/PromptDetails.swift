// Encodes a prompt for an agent: the details of org.permd.Agent1.Prompt.

import DBus
import PermissionCore
import PermissionModel
import ProcessIdentity
import System

enum PromptDetails {
    /// - Parameters:
    ///   - entries: Those of its app and of the apps behind it.
    ///   - starter: The name of what the desktop had started that started the app; empty if that is the app itself.
    ///   - users: The apps that use a device now which one app at a time can use.
    static func encoded(
        _ prompt: Prompt, _ entries: [AppID: AppEntry], starter: String, users: [Permission: AppID] = [:],
        deviceName: (Permission) -> String
    ) -> [String: Value] {
        let request = prompt.request
        let app = request.caller.app
        var details: [String: Value] = [
            "app": .string(SafeText.identity(app.description)), "app_name": .string(name(entries[app], app)),
            "app_icon": .string(icon(entries[app]?.icon ?? "")), "sandboxed": .bool(request.caller.isSandboxed),
            "durations": .strings(durations(of: prompt).map(\.rawValue)),
            "parent_window": .string(request.parentWindow), "since": .uint64(UInt64(clamping: request.arrived)),
            "items": .rows(
                prompt.items.map { asked in
                    var row = item(asked, request.device ?? asked.permission.map(deviceName) ?? "", request)
                    if let user = asked.permission.flatMap({ users[$0] }) {
                        row["used_by"] = .string(name(entries[user], user))
                    }
                    return row
                }),
        ]
        details.merge(encoded(prompt.behind, entries)) { $1 }
        if !starter.isEmpty { details["started_from"] = .string(SafeText.name(starter)) }
        if let pause = prompt.pause { details["pause"] = .uint32(UInt32(clamping: pause)) }
        if let explanation = request.explanation {
            details["explanation"] = .structure([.string(explanation.title), .string(explanation.body)])
        }
        return details
    }

    /// The portal stores the answers to its own questions, so there is no duration to choose; nor is there for an app that
    /// stands for any program.
    static func durations(of prompt: Prompt) -> [Duration.Kind] {
        let isOfPortal = prompt.items.allSatisfy { $0.permission == nil }
        return isOfPortal || prompt.request.caller.standsForAny ? [.once] : Duration.Kind.allCases
    }

    /// What an update of a prompt has, too.
    static func encoded(_ behind: RequestsBehind, _ entries: [AppID: AppEntry]) -> [String: Value] {
        [
            "waiting": .uint32(UInt32(behind.count)), "next": .strings(behind.apps.map { name(entries[$0], $0) }),
        ]
    }

    /// The devices that an update of a prompt names; none if there are none any more.
    static func devices(of prompt: Prompt, _ deviceName: (Permission) -> String) -> [String: Value] {
        guard prompt.request.device == nil else { return [:] }
        let rows = prompt.items.compactMap { item -> [String: Value]? in
            let name = SafeText.title(item.permission.map(deviceName) ?? "")
            return name.isEmpty ? nil : ["permission": .string(item.name), "device_name": .string(name)]
        }
        return rows.isEmpty ? [:] : ["items": .rows(rows)]
    }

    /// The most bytes of a path (PATH_MAX); names are shorter.
    private static let maximumIcon = 4096

    /// Returns the icon's name or path unchanged, or an empty string: a changed one would name another icon.
    static func icon(_ text: String) -> String {
        let isWhole =
            text.utf8.count <= maximumIcon
            && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
        return isWhole ? text : ""
    }

    /// Returns the first candidate that is not empty after sanitizing.
    private static func name(_ entry: AppEntry?, _ app: AppID) -> String {
        let names = [entry?.name ?? "", AppDirectory.plainName(app), SafeText.identity(app.description)]
        return names.lazy.map(SafeText.name).first { !$0.isEmpty } ?? ""
    }

    private static func item(_ item: PromptItem, _ deviceName: String, _ request: Request) -> [String: Value] {
        var item: [String: Value] = [
            "permission": .string(item.name), "device_name": .string(SafeText.title(deviceName)),
            "reason": .string(item.permission.flatMap { request.reasons[$0] } ?? ""),
        ]
        guard let dialog = request.dialog else { return item }
        item["title"] = .string(dialog.title)
        item["subtitle"] = .string(dialog.subtitle)
        item["body"] = .string(dialog.body)
        item["grant_label"] = .string(dialog.grantLabel)
        item["deny_label"] = .string(dialog.denyLabel)
        item["icon"] = .string(dialog.icon)
        item["choices"] = .array(of: "(ssa(ss)s)", dialog.choices.map(encoded))
        return item
    }

    private static func encoded(_ choice: PortalChoice) -> Value {
        .structure([
            .string(choice.id), .string(choice.label),
            .array(of: "(ss)", choice.options.map { .structure([.string($0.id), .string($0.label)]) }),
            .string(choice.initial),
        ])
    }
}

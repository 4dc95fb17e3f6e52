// Encodes a prompt for an agent: the details of org.permd.Agent1.Prompt.

import DBus
import PermissionCore
import PermissionModel
import System

enum PromptDetails {
    /// - Parameter entries: Those of its app and of the apps behind it.
    static func encoded(
        _ prompt: Prompt, _ entries: [AppID: AppEntry], deviceName: (Permission) -> String
    ) -> [String: Value] {
        let request = prompt.request
        let app = request.caller.app
        // The portal stores the answers to its own questions, so there is no duration to choose.
        let durations = prompt.items.allSatisfy { $0.permission == nil } ? [.once] : Duration.Kind.allCases
        var details: [String: Value] = [
            "app": .string(SafeText.identity(app.description)), "app_name": .string(name(entries[app], app)),
            "app_icon": .string(icon(entries[app]?.icon ?? "")), "sandboxed": .bool(request.caller.isSandboxed),
            "durations": .strings(durations.map(\.rawValue)),
            "parent_window": .string(request.parentWindow), "since": .uint64(UInt64(clamping: request.arrived)),
            "items": .rows(
                prompt.items.map { item($0, request.device ?? $0.permission.map(deviceName) ?? "", request) }),
        ]
        details.merge(encoded(prompt.behind, entries)) { $1 }
        if let pause = prompt.pause { details["pause"] = .uint32(UInt32(clamping: pause)) }
        if let explanation = request.explanation {
            details["explanation"] = .structure([.string(explanation.title), .string(explanation.body)])
        }
        return details
    }

    /// What an update of a prompt has, too.
    static func encoded(_ behind: RequestsBehind, _ entries: [AppID: AppEntry]) -> [String: Value] {
        [
            "waiting": .uint32(UInt32(behind.count)), "next": .strings(behind.apps.map { name(entries[$0], $0) }),
        ]
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

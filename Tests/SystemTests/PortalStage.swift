// A stage with the real xdg-desktop-portal, its store, and apps in Flatpak sandboxes.

import DBus
import Foundation
import Glibc
import PermissionModel
import PermissionTestKit
import TestSupport

@LoopActor
final class PortalStage {
    private static let project = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    let stage: Stage
    let portal: DesktopPortal
    /// `table id app=permission,permission …` for each `Changed` signal of the portals' store.
    let changes = EventLog<String>()
    private var apps: [TestApp] = []

    init(settings: String = "", rules: [String: String] = [:]) async throws {
        stage = try await Stage(settings: settings, rules: rules)
        portal = try await DesktopPortal(
            on: stage.permd, backends: PortalStage.project.appending(path: "portal").path,
            environment: ["XDG_CURRENT_DESKTOP": "permd"])
        stage.desk.onSignal(sender: BusNames.portalStore, member: "Changed") { [changes] message in
            let words = message.body.prefix(2).compactMap(\.stringValue)
            changes.add((words + [PortalStage.text(message.body.last)]).joined(separator: " "))
        }
        // Once this call is answered, the match rule is installed and the owner of the name is known.
        _ = try await store("Lookup", [.string("devices"), .string("camera")])
    }

    func flatpak(_ id: String) async throws -> TestApp {
        let app = try await TestApp.flatpak(id, on: stage.permd)
        apps.append(app)
        return app
    }

    // MARK: The portals' store

    /// Calls the portals' store; returns nil if it has no such entry.
    @discardableResult
    func store(_ member: String, _ body: [Value]) async throws -> [Value]? {
        do throws(BusError) {
            return try await stage.desk.call(
                .call(
                    destination: BusNames.portalStore, path: BusNames.portalStorePath,
                    interface: BusNames.portalStore, member: member, body)
            ).body
        } catch {
            guard error.name == "org.freedesktop.portal.Error.NotFound" else { throw error }
            return nil
        }
    }

    /// Each app's entry for the camera in the portals' store: `app=permission …`.
    func camera() async throws -> String {
        let body = try await store("Lookup", [.string("devices"), .string("camera")])
        return PortalStage.text(body?.first)
    }

    /// Waits until ``camera()`` returns that text.
    func camera(becomes text: String) async throws {
        while true {
            let seen = changes.all.count
            if try await camera() == text { return }
            try await changes.wait(for: seen + 1)
        }
    }

    func setCamera(_ app: String, _ word: String) async throws {
        try await store(
            "SetPermission",
            [.string("devices"), .bool(true), .string("camera"), .string(app), .strings([word])])
    }

    private static func text(_ value: Value?) -> String {
        guard case .dictionary(_, _, let entries) = value else { return "" }
        return entries.map { entry in
            "\(entry.key.stringValue ?? "?")=\((entry.value.strings ?? []).joined(separator: ","))"
        }.sorted().joined(separator: " ")
    }

    func end() async {
        for app in apps { await app.end() }
        await portal.end()
        await stage.end()
    }
}

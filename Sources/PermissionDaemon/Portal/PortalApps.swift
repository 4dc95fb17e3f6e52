// Maps between the app IDs of portals, which have no prefix, and those of permd, which do.

import DBus
import PermissionModel
import System

enum PortalApps {
    /// Returns the ID that portals use for an app; empty for a program that has none.
    static func portalID(of app: AppID) -> String {
        switch app.kind {
        case .flatpak, .desktop: app.name
        case .snap: "snap.\(app.name)"
        case .exe: ""
        }
    }

    /// Passes the app that asks, where `id` is the app ID that the portal gives. `completion` may run before this
    /// returns.
    ///
    /// A sandboxed caller always keeps its own identity. A program outside any sandbox may ask on behalf of a sandboxed
    /// one, as a sound server does (org.freedesktop.portal.Device).
    @LoopActor
    static func asking(
        _ caller: Caller, id: String, by worker: Worker, _ completion: @escaping @LoopActor (AppID) -> Void
    ) {
        guard !caller.isSandboxed, id != portalID(of: caller.app) else { return completion(caller.app) }
        find([ExactText(id)], by: worker) { found in
            completion(found.values.first { $0.isSandboxed } ?? caller.app)
        }
    }

    /// Passes the most likely apps with these IDs. The results of several calls come in the order of the calls.
    @LoopActor
    static func find(
        _ ids: Set<ExactText>, by worker: Worker, _ completion: @escaping @LoopActor ([ExactText: AppID]) -> Void
    ) {
        worker.run(about: "desktop entries") {
            apps(ids, AppDirectory.hasEntry)
        } then: {
            completion($0 ?? apps(ids) { _ in true })
        }
    }

    private static func apps(_ ids: Set<ExactText>, _ isInstalled: (AppID) -> Bool) -> [ExactText: AppID] {
        Dictionary(uniqueKeysWithValues: ids.compactMap { id in app(id.text, isInstalled).map { (id, $0) } })
    }

    private static func app(_ id: String, _ isInstalled: (AppID) -> Bool) -> AppID? {
        if id.isEmpty { return nil }
        if id.hasPrefix("snap."), let snap = AppID("snap:\(id.dropFirst("snap.".count))") { return snap }
        guard let flatpak = AppID("flatpak:\(id)") else { return nil }
        return isInstalled(flatpak) ? flatpak : AppID("desktop:\(id)")
    }
}

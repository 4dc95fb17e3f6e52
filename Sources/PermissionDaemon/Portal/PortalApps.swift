// Maps between the app IDs of portals, which have no prefix, and those of permd, which do.

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

    /// Returns the app that asks, where `id` is the app ID that the portal gives.
    ///
    /// A sandboxed caller always keeps its own identity. A program outside any sandbox may ask on behalf of a sandboxed
    /// one, as a sound server does (org.freedesktop.portal.Device).
    static func asking(_ caller: Caller, id: String) -> AppID {
        guard !caller.isSandboxed, id != portalID(of: caller.app), let meant = app(id: id), meant.isSandboxed else {
            return caller.app
        }
        return meant
    }

    /// Returns the most likely app with that ID, or nil if there is none.
    static func app(id: String) -> AppID? {
        if id.isEmpty { return nil }
        if id.hasPrefix("snap."), let snap = AppID("snap:\(id.dropFirst("snap.".count))") { return snap }
        guard let flatpak = AppID("flatpak:\(id)") else { return nil }
        return AppDirectory.hasEntry(flatpak) ? flatpak : AppID("desktop:\(id)")
    }
}

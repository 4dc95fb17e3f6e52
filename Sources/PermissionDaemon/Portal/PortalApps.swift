// Which app a portal means: its ids have no prefix, ours do.

import PermissionModel

enum PortalApps {
    /// The id portals know an app by; empty for a program they have none for.
    static func portalID(of app: AppID) -> String {
        switch app.kind {
        case .flatpak, .desktop: app.name
        case .snap: "snap.\(app.name)"
        case .exe: ""
        }
    }

    /// The app that asks, `id` being what the portal calls it.
    ///
    /// A sandboxed caller is itself, whatever the portal says. A program outside any sandbox may ask on behalf of a
    /// sandboxed one, as a sound server does (org.freedesktop.portal.Device).
    static func asking(_ caller: Caller, id: String) -> AppID {
        guard !caller.isSandboxed, id != portalID(of: caller.app), let meant = app(id: id), meant.isSandboxed else {
            return caller.app
        }
        return meant
    }

    /// The likeliest app of that id; nil for none.
    static func app(id: String) -> AppID? {
        if id.isEmpty { return nil }
        if id.hasPrefix("snap."), let snap = AppID("snap:\(id.dropFirst("snap.".count))") { return snap }
        guard let flatpak = AppID("flatpak:\(id)") else { return nil }
        return AppDirectory.hasEntry(flatpak) ? flatpak : AppID("desktop:\(id)")
    }
}

// The app IDs of portals, which have no prefix.

import PermissionModel

enum PortalApps {
    /// The app that an entry of the portals' store is most likely about which another program has written; nil if the ID is
    /// none. What a program outside sandboxes calls itself does not matter: it is known by its executable.
    static func likely(_ id: String) -> AppID? {
        let snap = id.hasPrefix("snap.") ? AppID("snap:\(id.dropFirst("snap.".count))") : nil
        return snap ?? AppID("flatpak:\(id)")
    }
}

// Which programs permd-pipewire does not ask about, and for which apps a portal has connected.

import CPipeWire
import CaptureRules
import DBus
import Glibc
import PermissionModel
import ProcessIdentity
import Testing

@testable import permd_pipewire

struct SessionProgramTests {
    private func found(_ executable: String?) -> ProcessApps.Found {
        ProcessApps.Found(app: AppID("exe:/app")!, executable: executable.map { Array($0.utf8) })
    }

    @Test(arguments: MediaService.programs.keys.sorted())
    func aMediaServiceIsOfTheSession(_ name: String) {
        let found = found("/usr/bin/\(name)")
        #expect(found.isOfSession && !found.isPortal && found.mediaService == MediaService.programs[name])
    }

    @Test(arguments: [
        ("/usr/libexec/xdg-desktop-portal", true), ("/usr/bin/jackd", false), ("/usr/bin/parecord", false),
        (nil, false),
    ])
    func anotherProgram(_ executable: String?, isPortal: Bool) {
        let found = found(executable)
        #expect(found.isOfSession == isPortal && found.isPortal == isPortal && found.mediaService == nil)
    }

    /// By the names that the properties have before and since xdg-desktop-portal 23.
    @Test(arguments: ["pipewire.access.portal", "xdg-desktop-portal"], ["Camera", "Other,Camera", ""])
    @LoopActor
    func aConnectionForAnApp(_ names: String, roles: String) {
        let words = ["app_id", "org.example.App", "media_roles", roles].enumerated()
            .map { strdup($0.offset % 2 == 0 ? "\(names).\($0.element)" : $0.element) }
        defer { for word in words { free(word) } }
        let items = [spa_dict_item(key: words[0], value: words[1]), spa_dict_item(key: words[2], value: words[3])]
        let portal = items.withUnsafeBufferPointer { items in
            var properties = spa_dict(flags: 0, n_items: UInt32(items.count), items: items.baseAddress)
            return withUnsafePointer(to: &properties) { GraphMirror().setClient(1, Properties(raw: $0)).portal }
        }
        #expect(portal == Client.Portal(app: "org.example.App", isForCamera: roles.hasSuffix("Camera")))
    }
}

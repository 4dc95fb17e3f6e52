// Which programs permd-pipewire does not ask about.

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
}

// The settings of permd-guard.

import PermissionTestKit
import Testing

@testable import PolicyFiles

struct GuardSettingsTests {
    @Test
    func filesAddUp() throws {
        let root = try PolicyCheckTests.folder([
            "etc/permd/guard.conf": "[Guard]\nWithoutPermd=refuse\nPass=/usr/bin/a /usr/bin/b\n",
            "usr/lib/permd/guard.conf.d/10-more.conf": "[Guard]\nPass=/usr/bin/c\nPass=/usr/bin/d\n",
            "etc/permd/guard.conf.d/20-wait.conf": "[Guard]\nWaitForPermdSec=5\n",
            // Settings of permd are not its settings.
            "etc/permd/permd.conf": "[Prompts]\nNagLimit=1\n",
        ])
        let (settings, problems) = GuardSettings.read(root: root.path)
        #expect(problems == [])
        #expect(settings.withoutPermd == .refuse && settings.waitForPermd == 5)
        #expect(settings.passing == ["/usr/bin/a", "/usr/bin/b", "/usr/bin/c", "/usr/bin/d"])
    }

    @Test
    func withoutFilesTheDefaultsHold() throws {
        let (settings, problems) = GuardSettings.read(root: try TemporaryFolder([]).path)
        #expect(problems == [] && settings == GuardSettings())
        #expect(settings.withoutPermd == .allow && settings.waitForPermd == 2 && settings.passing == [])
    }

    @Test(arguments: [
        ("[Guards]\n", 1), ("[Guard]\nWithoutPermd=deny\n", 2), ("[Guard]\n\nWaitForPermdSec=61\n", 3),
        ("[Guard]\nWaitForPermdSec=x\n", 2), ("[Guard]\nPass=pipewire\n", 2), ("[Guard]\nPas=/a\n", 2),
        ("[Guard]\nWithoutPermd=allow\nWithoutPermd=allow\n", 3),
    ])
    func anErrorIsNamedWithItsLine(text: String, line: Int) throws {
        let root = try PolicyCheckTests.folder(["etc/permd/guard.conf": "[Guard]\nWithoutPermd=refuse\n"])
        let before = GuardSettings.read(root: root.path).0
        try root.write(text, to: "etc/permd/guard.conf")
        let (settings, problems) = GuardSettings.read(root: root.path, over: before)
        #expect(problems.map(\.line) == [line])
        #expect(settings == before, "the last valid settings stay")
        #expect(PolicyCheck.machine(root: root.path).map { $0.error?.line } == [line])
    }
}

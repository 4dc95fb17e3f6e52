// The settings of permd-guard.

import Foundation
import PermissionModel
import PermissionTestKit
import System
import Testing

@testable import PolicyFiles

struct GuardConfigurationTests {
    @Test
    func filesAddUp() throws {
        let root = try FileCheckTests.folder([
            "etc/permd/guard.conf": "[Guard]\nWithoutPermd=refuse\nPass=/usr/bin/a /usr/bin/b\n",
            "usr/lib/permd/guard.conf.d/10-more.conf": "[Guard]\nPass=/usr/bin/c\nPass=/usr/bin/d\n",
            "etc/permd/guard.conf.d/20-wait.conf": "[Guard]\nWaitForPermdSec=5\n",
            // Settings of permd are not its settings.
            "etc/permd/permd.conf": "[Prompts]\nNagLimit=1\n",
        ])
        let (configuration, problems) = GuardConfiguration.read(root: root.path)
        #expect(problems == [])
        #expect(configuration.withoutPermd == .refuse && configuration.waitForPermd == 5)
        #expect(configuration.passing == ["/usr/bin/a", "/usr/bin/b", "/usr/bin/c", "/usr/bin/d"])
    }

    @Test
    func withoutFilesTheDefaultsHold() throws {
        let (configuration, problems) = GuardConfiguration.read(root: try TemporaryFolder([]).path)
        #expect(problems == [] && configuration == GuardConfiguration())
        #expect(configuration.withoutPermd == .allow && configuration.waitForPermd == 2 && configuration.passing == [])
    }

    @Test(arguments: [
        ("[Guards]\n", 1), ("[Guard]\nWithoutPermd=deny\n", 2), ("[Guard]\n\nWaitForPermdSec=61\n", 3),
        ("[Guard]\nWaitForPermdSec=x\n", 2), ("[Guard]\nPass=pipewire\n", 2), ("[Guard]\nPas=/a\n", 2),
        ("[Guard]\nWithoutPermd=allow\nWithoutPermd=allow\n", 3),
    ])
    func anErrorIsNamedWithItsLine(text: String, line: Int) throws {
        let root = try FileCheckTests.folder(["etc/permd/guard.conf": "[Guard]\nWithoutPermd=refuse\n"])
        let before = GuardConfiguration.read(root: root.path).0
        try root.write(text, to: "etc/permd/guard.conf")
        let (configuration, problems) = GuardConfiguration.read(root: root.path, over: before)
        #expect(problems.map(\.line) == [line])
        #expect(configuration == before, "the last valid settings stay")
        #expect(FileCheck.machine(root: root.path).map { $0.error?.line } == [line])
    }

    @Test(arguments: [
        ("[Guard]\nWithoutPermd=deny\n", "WithoutPermd must be allow or refuse, not deny"),
        ("[Guard]\nWaitForPermdSec=61\n", "WaitForPermdSec must be from 0 to 60, not 61"),
        ("[Guard]\nPass=/a b\n", "Pass must be absolute paths, not /a b"),
        ("[Guard]\nPas=/a\n", "[Guard] has no key Pas"),
        ("[Limits]\n", "unknown section [Limits]; there may be [Guard]"),
    ])
    func aProblemNamesTheValidValues(_ text: String, _ message: String) {
        let error = #expect(throws: FileProblem.self) { try GuardConfiguration.read(text, over: GuardConfiguration()) }
        #expect(error?.message == message)
    }

    @Test func everyKeyIsInTheManual() throws {
        func manual(_ name: String) throws -> String {
            let path = #filePath.components(separatedBy: "/Tests/")[0] + "/docs/man/\(name)"
            return try String(contentsOfFile: path, encoding: .utf8)
        }
        let (permd, guards) = (try manual("permd.conf.5"), try manual("permd-guard.8"))
        for key in Configuration.keys {
            #expect(permd.contains(".SH [\(key.section)]") && permd.contains(".BR \(key.name)= "), "\(key.name)")
        }
        for key in GuardConfiguration.keys {
            #expect(guards.contains(".SS [\(key.section)]"))
            #expect(guards.contains(".BR \(key.name)= ") || guards.contains(".B \(key.name)="), "\(key.name)")
        }
    }
}

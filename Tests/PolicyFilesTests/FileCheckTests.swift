// What permctl check finds in files, without permd.

import PermissionTestKit
import System
import TestSupport
import Testing

@testable import PolicyFiles

@Suite
struct FileCheckTests {
    private static let rule = "[Rule a]\nApps=flatpak:*\nPermissions=camera\nAction=restrict\n"

    static func folder(_ files: [String: String]) throws -> TemporaryFolder {
        let parts = files.keys.map { $0.split(separator: "/").dropLast() }
        let parents = Set(parts.flatMap { parts in parts.indices.map { parts[...$0].joined(separator: "/") } })
        let root = try TemporaryFolder(parents.sorted())
        for (name, text) in files { try root.write(text, to: name) }
        return root
    }

    @Test func theFilesOfAMachine() throws {
        let root = try FileCheckTests.folder([
            "etc/permd/policy.d/10-good.conf": FileCheckTests.rule,
            "etc/permd/policy.d/20-bad.conf": "[Rule a]\nApps=firefox\n",
            "usr/lib/permd/policy.d/20-bad.conf": "replaced\n",
            "etc/permd/policy.d/30-paths.conf": FileCheckTests.rule + "Apps=exe:/bin/a exe:/bin/b\n",
            "etc/permd/policy.d/40-old.conf.dpkg-old": "",
            // Packages have rules about programs that may not be installed.
            "usr/lib/permd/policy.d/50-package.conf": FileCheckTests.rule + "Apps=exe:/bin/b\n",
            "etc/permd/permd.conf": "[Prompts]\nNagLimit=0\n",
            "bin/a": "",
        ])
        let found = FileCheck.machine(root: root.path)
        #expect(
            found.map(\.path)
                == [
                    "etc/permd/policy.d/10-good.conf", "etc/permd/policy.d/20-bad.conf",
                    "etc/permd/policy.d/30-paths.conf", "usr/lib/permd/policy.d/50-package.conf",
                    "etc/permd/permd.conf", "etc/permd/policy.d/40-old.conf.dpkg-old",
                ].map(root.file))
        #expect(found.map { $0.error?.line } == [nil, 2, nil, nil, 2, nil])
        #expect(found.map { $0.notes.map(\.line) } == [[], [], [5], [], [], [0]])
        #expect(found[2].notes[0].message.contains("/bin/b") && found[5].notes[0].message.contains(".conf"))
    }

    /// Tools check a file under a name of their own before they install it.
    @Test func filesAndFoldersByName() throws {
        let root = try FileCheckTests.folder([
            "new": FileCheckTests.rule, "settings": "[History]\nMaxRows=1\n", "permd/permd.conf": "[Prompt]\n",
            "permd/policy.d/a.conf": "[Rule a]\n", "permd/policy.d/notes.txt": "", "permd/README": "",
        ])
        #expect(FileCheck.path(root.file("new")) == [CheckedFile(path: root.file("new"))])
        #expect(FileCheck.path(root.file("settings"))[0].error == nil)
        #expect(FileCheck.path(root.file("absent"))[0].error?.message == "No such file or directory")
        let folder = FileCheck.path(root.file("permd"))
        #expect(
            folder.map(\.path)
                == ["permd/permd.conf", "permd/policy.d/a.conf", "permd/policy.d/notes.txt"].map(root.file))
        #expect(folder.map { $0.error?.line } == [1, 1, nil] && folder[2].notes.count == 1)
    }
}

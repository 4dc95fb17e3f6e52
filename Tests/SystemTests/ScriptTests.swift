// scripts/lib.sh: parts of a check that run beside each other do not keep each other from installing packages.

import PermissionTestKit
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(3)))
struct ScriptTests {
    /// Like apt's, this fails while another installs: the first goes on when the second is about to begin.
    private static let installer = """
        #!/bin/sh
        mkdir "$here/lock" || exit 100
        until [ "$(wc -l <"$here/asked")" -ge 2 ]; do sleep 0.01; done
        echo installed >>"$here/log"
        rmdir "$here/lock"
        """

    private static let script = """
        cd "$1"
        export here=$2 PATH=$2:$PATH
        chmod +x "$here"/*
        . scripts/lib.sh
        install_missing one & first=$!
        install_missing two & second=$!
        wait $first && wait $second && cat "$here/log"
        """

    @Test func packagesAreInstalledOneAfterTheOther() async throws {
        let folder = try TemporaryFolder()
        try folder.write(ScriptTests.installer, to: "apt-get")
        try folder.write("#!/bin/sh\necho >>\"$here/asked\"\n", to: "dpkg-query")
        try folder.write("#!/bin/sh\nexec \"$@\"\n", to: "sudo")
        let child = try ChildProcess(
            "bash", ["-euc", ScriptTests.script, "bash", Installer.project, folder.path],
            environment: ["LC_ALL": "C.UTF-8"])
        let text = await child.output()
        #expect(await child.waitForExit() == .exited(0))
        #expect(text.split(separator: "\n").filter { $0 == "installed" }.count == 2)
    }
}

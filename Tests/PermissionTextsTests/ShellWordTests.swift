// What a person copies into a shell is one word there, whatever it contains.

import PermissionTestKit
import PermissionTexts
import Testing

@Suite
struct ShellWordTests {
    @Test(arguments: [
        "exe:/usr/bin/firefox", "flatpak:org.gnome.Maps", "exe:/tmp/a b", "exe:/tmp/$(id)", "exe:/tmp/`id`", "it's",
        "'", "", "*", "~", "a;b", "a\nb", "!!", "\\", "é",
    ])
    func aShellReadsOneWord(_ word: String) async throws {
        let shell = try ChildProcess("sh", ["-c", "printf '%s|\\n' \(ShellWord.quoted(word))"], standardOutput: .pipe)
        #expect(await shell.output() == word + "|\n")
    }

    @Test func plainWordsStayAsTheyAre() {
        #expect(
            ShellWord.quoted("exe:/usr/bin/python3.11:/home/me/a%20b.py") == "exe:/usr/bin/python3.11:/home/me/a%20b.py"
        )
    }
}

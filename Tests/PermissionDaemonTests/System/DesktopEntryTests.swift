// Desktop entries are parsed as GKeyFile does; only bounded regular files are read.

import Glibc
import PermissionTestKit
import System
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
struct DesktopEntryTests {
    nonisolated static let table: [(text: String, name: String)] = [
        ("[Desktop Entry]\nName=Maps\n", "Maps"), ("[Desktop Entry]\r\nName=Maps\r\n", "Maps"),
        ("[Desktop Entry]\n Name \t= \tMaps \n", "Maps "), ("[Desktop Entry]\nName=A\\sB\\\\C\\n\n", "A B\\C\n"),
        // Only LF ends a line.
        ("[Desktop Entry]\nComment=a\u{2028}Name=Wrong\n", "fallback"),
        ("[Desktop Entry]\nComment=a\u{B}Name=Wrong\u{C}Name=Wrong\u{85}Name=Wrong\n", "fallback"),
        ("[Other]\nX=a\u{2029}[Desktop Entry]\u{2029}Name=Wrong\n", "fallback"),
        ("[Desktop Entry]\n[\u{301}x\nName=Right\n", "fallback"), ("[Desktop Entry]\nName=\n", "fallback"),
        ("[Desktop Entry]\nName=\0\n", "fallback"), ("Name=Wrong\n", "fallback"), ("", "fallback"),
    ]

    @Test(arguments: table.indices)
    func names(_ index: Int) {
        let (text, name) = DesktopEntryTests.table[index]
        let entry = AppDirectory.parse(Array(text.utf8), language: "", AppEntry(name: "fallback", icon: ""))
        #expect(Array(entry.name.utf8) == Array(name.utf8))
    }

    /// An invalid value is ignored; the others are used.
    @Test func valuesThatAreNotUTF8() {
        let bytes =
            Array("[Desktop Entry]\nName[de]=".utf8) + [0xFF, 0x0A] + Array("Name=Maps\nIcon=".utf8) + [0xC3, 0x0A]
        let entry = AppDirectory.parse(bytes, language: "de", AppEntry(name: "fallback", icon: "icon"))
        #expect(entry.name == "Maps" && entry.icon == "icon")
    }

    @Test func onlyRegularFilesOfABoundedSizeAreRead() throws {
        let folder = try TemporaryFolder()
        let path = try folder.write("text", to: "file")
        symlink(path, folder.file("link"))
        symlink("nowhere", folder.file("dangling"))
        symlink("/dev/null", folder.file("null"))
        symlink("/dev/zero", folder.file("zero"))
        mkfifo(folder.file("fifo"), 0o600)
        #expect(try RegularFile.read(path, maximum: 4) == Array("text".utf8))
        #expect(try RegularFile.read(folder.file("link"), maximum: 4) == Array("text".utf8))
        #expect(try RegularFile.read(folder.file("null"), maximum: 4) == [])
        for (name, reason, isAbsent) in [
            ("file", "larger", false), ("dangling", "leads to nothing", false), ("zero", "a device", false),
            ("fifo", "a FIFO", false), ("", "a folder", false), ("nothing", "No such file", true),
        ] {
            do {
                _ = try RegularFile.read(folder.file(name), maximum: 3)
                Issue.record("\(name) was read")
            } catch {
                #expect(error.reason.contains(reason) && error.isAbsent == isAbsent, "\(name): \(error)")
            }
        }
    }
}

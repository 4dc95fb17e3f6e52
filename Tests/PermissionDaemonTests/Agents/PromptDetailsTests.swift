// Which parts of an app's desktop entry its prompt gets.

import PermissionModel
import Testing

@testable import PermissionDaemon

struct PromptDetailsTests {
    @Test func anIconIsUsedUnchangedOrNotAtAll() {
        let path = "/usr/share/icons/hicolor/scalable/apps/" + String(repeating: "long/", count: 200) + "icon.svg"
        for icon in ["firefox", "org.example.App-symbolic", path, "/home/a/Bücher/icon.png"] {
            #expect(PromptDetails.icon(icon) == icon)
        }
        for icon in ["", String(repeating: "x", count: 4097), "a\nb", "fire\u{9B}fox", "/a/\u{7}b"] {
            #expect(PromptDetails.icon(icon) == "")
        }
    }
}

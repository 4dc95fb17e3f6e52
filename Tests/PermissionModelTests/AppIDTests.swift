// App identities: valid and invalid forms, escaping, and comparison.

import Testing

@testable import PermissionModel

@Suite
struct AppIDTests {
    @Test(arguments: [
        "flatpak:org.gnome.Maps", "snap:firefox", "exe:/usr/bin/firefox",
        "exe:/usr/bin/python3.11:/home/a/call.py", "exe:/a%3Ab", "exe:/with space", "exe:/ünï/cödé", "snap:a b",
        // A combining mark after the slash.
        "exe:/\u{5B7}", "exe:/a/\u{301}b:/\u{301}",
        // A combining mark after the colon.
        "snap:\u{6D6}[", "snap:\u{301}a",
    ])
    func validFormsAreParsed(_ text: String) throws {
        let app = try #require(AppID(text))
        #expect(app.description == text)
        #expect(AppID(app.description) == app)
    }

    @Test(arguments: [
        "", ":", "exe", "exe:", "exe:relative", "exe:/a:relative", "exe:/a:/b:/c", "exe:/a:", "exe:/100%", "exe:/a%3",
        "exe:/a%3a", "exe:/a%zz", "flatpak:", "flatpak:a/b", "snap:a:b", "snap:/usr/bin/a", "desktop:a", "host:thing",
        "EXE:/a",
        "flatpak:a/\u{301}b", "snap:a:\u{301}b", "exe:/a\nb", "exe:/a\0b", "snap:a\u{7F}", " exe:/a",
        "/usr/bin/firefox",
    ])
    func invalidFormsAreRejected(_ text: String) { #expect(AppID(text) == nil) }

    @Test func identitiesLongerThanTheMaximumAreRejected() {
        #expect(AppID("exe:/" + String(repeating: "a", count: AppID.maximumLength)) == nil)
        #expect(AppID("exe:/" + String(repeating: "a", count: AppID.maximumLength - 1)) != nil)
    }

    /// The prefix is part of the identity, so apps of different kinds never share a grant.
    @Test func kindsDiffer() throws {
        let apps = try ["flatpak:a", "snap:a", "exe:/a"].map { try #require(AppID($0)) }
        #expect(Set(apps).count == 3)
        #expect(apps.map(\.isSandboxed) == [true, true, false])
    }

    @Test func pathsAreEscaped() {
        #expect(AppID.executable("/opt/a:b/100%".utf8).description == "exe:/opt/a%3Ab/100%25")
        #expect(AppID.executable("/a\nb".utf8).description == "exe:/a%0Ab")
        #expect(AppID.executable([0x2F, 0xFF]).description == "exe:/%FF")
        #expect(AppID.executable("/ü".utf8).description == "exe:/ü")
        #expect(AppID.executable("/bin/sh".utf8, script: "/x:y".utf8).description == "exe:/bin/sh:/x%3Ay")
    }

    /// A path that contains a colon differs from an interpreter with its script.
    @Test func noPathCanImitateAScript() {
        let path = AppID.executable("/bin/sh:/home/a/script".utf8)
        let script = AppID.executable("/bin/sh".utf8, script: "/home/a/script".utf8)
        #expect(path != script)
    }

    @Test func everyPathCanBeParsedAgain() {
        for bytes in [[0x2F], [0x2F, 0x25, 0x32, 0x35], [0x2F, 0x80, 0x3A], Array("/a%3Ab".utf8)] as [[UInt8]] {
            let app = AppID.executable(bytes)
            #expect(AppID(app.description) == app)
        }
        #expect(AppID.executable("/a%3Ab".utf8) != AppID.executable("/a:b".utf8))
    }

    /// The kernel sees two files in each pair; `String` considers them equal.
    @Test(arguments: [
        ("exe:/opt/caf\u{E9}", "exe:/opt/cafe\u{301}"), ("snap:\u{212A}", "snap:K"),
        ("exe:/\u{1100}\u{1161}", "exe:/\u{AC00}"),
        ("exe:/a\u{1FEF}", "exe:/a`"),
    ])
    func canonicallyEquivalentIdentitiesDiffer(_ one: String, _ other: String) throws {
        #expect(one == other)
        let (a, b) = (try #require(AppID(one)), try #require(AppID(other)))
        #expect(a != b)
        #expect(Set([a, b]).count == 2)
        #expect([a: 1, b: 2][a] == 1)
        #expect((a < b) != (b < a))
    }

    /// SQLite sorts by bytes too, so lists from it can be merged with lists from memory.
    @Test func identitiesAreOrderedByTheirBytes() throws {
        let names = [
            "exe:/\u{E9}", "exe:/e\u{301}", "exe:/f", "snap:a", "flatpak:a.b", "exe:/", "exe:/\u{FFFD}",
            "exe:/\u{10000}",
        ]
        let apps = try names.map { try #require(AppID($0)) }
        #expect(
            apps.sorted().map { Array($0.description.utf8) }
                == names.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) })
    }
}

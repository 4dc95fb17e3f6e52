// Texts from apps: what is removed, joined, trimmed and cut, in the contract's order.

import PermissionCore
import PermissionModel
import Testing

@Suite
struct SafeTextTests {
    static let table: [(String, String)] = [
        ("", ""), ("plain", "plain"), ("  both ends  ", "both ends"), ("a \t\n b", "a b"),
        ("line\nbreak", "line break"), ("line\r\nbreak", "line break"), ("a\u{2028}b\u{2029}c\u{85}d", "a b c d"),
        ("a\u{A0}\u{3000}b", "a b"), ("bell\u{7}", "bell"), ("\u{1B}[31mred", "[31mred"),
        ("nul\0in", "nulin"), ("c1\u{9B}31m", "c131m"),
        ("\u{202E}gnp.exe", "gnp.exe"), ("a\u{202A}b\u{202B}c\u{202C}d\u{202D}e", "abcde"),
        ("a\u{2066}b\u{2067}c\u{2068}d\u{2069}e", "abcde"), ("a\u{1} \u{2}b", "a b"), ("\u{1} \u{202E} ", ""),
        ("<b>bold</b> & 'quoted' %n", "<b>bold</b> & 'quoted' %n"), ("naïve ☕ 日本語", "naïve ☕ 日本語"),
        ("שלום", "שלום"), ("👩‍👩‍👧", "👩‍👩‍👧"),
    ]

    @Test(arguments: table.indices)
    func cleaned(_ index: Int) {
        let (text, expected) = SafeTextTests.table[index]
        #expect(SafeText.body(text) == expected)
        #expect(SafeText.title(text) == expected)
    }

    @Test func cutSoThatItFitsWithItsEllipsis() {
        for (clean, limit) in [(SafeText.title, Limits.titleScalars), (SafeText.body, Limits.bodyScalars)] {
            let exact = String(repeating: "x", count: limit)
            #expect(clean(exact) == exact)
            #expect(clean(exact + "  ") == exact)
            #expect(clean(exact + "y") == String(repeating: "x", count: limit - 1) + "…")
            #expect(clean(exact + " y").unicodeScalars.count <= limit)
        }
    }

    @Test func noSpaceBeforeTheEllipsis() {
        let text = String(repeating: "x", count: Limits.titleScalars - 2) + " yyy"
        #expect(SafeText.title(text) == String(repeating: "x", count: Limits.titleScalars - 2) + "…")
    }

    @Test func charactersAreCutWhole() {
        let family = "👩‍👩‍👧"
        let cut = SafeText.title(String(repeating: family, count: 40))
        #expect(cut.unicodeScalars.count <= Limits.titleScalars)
        #expect(cut.dropLast().allSatisfy { String($0) == family })
        #expect(cut.last == "…")
    }

    /// A letter with a thousand accents is one character: cut inside rather than lost or kept whole.
    @Test func accentsWithoutEndAreCut() {
        let text = "e" + String(repeating: "\u{301}", count: 2000)
        let cut = SafeText.title(text)
        #expect(cut.unicodeScalars.count == Limits.titleScalars)
        #expect(cut.unicodeScalars.first == "e")
    }

    @Test func aMegabyteIsNoTrouble() {
        let text = String(repeating: "a b\n\u{202E}", count: 200_000)
        #expect(SafeText.body(text).unicodeScalars.count == Limits.bodyScalars)
        #expect(SafeText.body(String(repeating: " ", count: 1 << 20)) == "")
    }

    /// Clean text is left as it is: cleaning twice is cleaning once.
    @Test func cleaningTwiceChangesNothing() {
        for (text, _) in SafeTextTests.table + [(String(repeating: "ab ", count: 400), "")] {
            let once = SafeText.title(text)
            #expect(SafeText.title(once) == once)
        }
    }
}

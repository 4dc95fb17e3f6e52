// Text from apps: what is removed, joined, trimmed and truncated, in the order that the contract defines.

import Testing

@testable import PermissionModel

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
        // Directional marks, invisible letters, tags, and scalars without a glyph.
        ("a\u{61C}b\u{200E}c\u{200F}d", "abcd"), ("soft\u{AD}hyphen", "softhyphen"),
        ("a\u{200B}b\u{2060}c\u{FEFF}", "abc"),
        ("\u{3164}\u{115F}\u{FFA0}x", "x"), ("a\u{2800}\u{2800}b", "a b"), ("a\u{E0061}\u{E007F}b", "ab"),
        ("a\u{E000}b\u{F0000}c\u{10FFFF}d\u{378}e", "abcde"), ("a\u{FFF9}b\u{FFFB}c", "abc"),
        ("pay\u{200D}pal\u{200C}x", "paypalx"), ("\u{301}\u{338}x \u{301}y", "x y"), ("x\u{FE0F}\u{FE0F}", "x\u{FE0F}"),
    ]

    /// Real text needs its combining marks and joiners, so it is left unchanged.
    static let scripts = [
        "ภาษาไทย น้ำ ที่นี่", "कार्त्स्न्यम् र्‍य ज़्ञां", "שַׁבָּ֔ת הַשָּׁמַיִם", "Tie\u{302}\u{301}ng Vie\u{323}\u{302}t", "می‌خواهم", "مُحَمَّدٌ",
        "လျှို့ဝှက်ချက် မြန်မာ", "བོད་སྐད་ རྒྱུད", "ភាសាខ្មែរ ស្ត្រី", "தமிழ் தொண்டை", "한국어 \u{1112}\u{1161}\u{11AB}\u{1100}\u{116E}\u{11A8}",
        "葛\u{E0100}城",
        "👩🏽‍❤️‍💋‍👨🏿 👨‍👩‍👧‍👦 1️⃣ 🏳️‍🌈 🇩🇪🇫🇷🇯🇵🇧🇷🇨🇦🇮🇳🇲🇽🇿🇦🇳🇴🇸🇪", "naïve e\u{301} Å ñ", "\u{604}١٢٣",
    ]

    @Test(arguments: scripts)
    func realScriptsAreLeftUnchanged(_ text: String) {
        #expect(Array(SafeText.body(text).unicodeScalars) == Array(text.unicodeScalars))
    }

    /// A character is drawn as a unit: none may be taller than a letter with its marks, or wider than a line.
    @Test(arguments: [
        "e\u{301}", "e" + "\u{489}", "\u{903}", "ก\u{E33}", "\u{1100}", "\u{0600}", "👩\u{200D}", "क\u{94D}",
        "क\u{94D}\u{93C}",
        "\u{1F3FB}", "か\u{FF9E}", "\u{200D}", "x\u{FE0F}", "\u{E0100}", "\u{1F1E6}", "a\u{20DD}",
    ])
    func charactersOfRepeatedScalarsStaySmall(_ piece: String) {
        let text = "a" + String(repeating: piece, count: 500) + " end"
        for character in SafeText.body(text) { expectSmall(character) }
        for character in SafeText.body("e" + String(repeating: piece.unicodeScalars.last!.description, count: 500)) {
            expectSmall(character)
        }
    }

    private func expectSmall(_ character: Character) {
        let scalars = character.unicodeScalars
        // A flag may have one scalar more.
        #expect(scalars.count <= ShownText.characterScalars + 1, "\(scalars.map(\.value))")
        var stacked = 0
        for scalar in scalars {
            let category = scalar.properties.generalCategory
            let isMark = category == .nonspacingMark || category == .enclosingMark
            let isSelector = scalar.properties.isVariationSelector
            stacked = isMark && !isSelector ? stacked + 1 : category == .spacingMark || isSelector ? stacked : 0
            #expect(stacked <= ShownText.marks)
        }
    }

    /// Random text, rich in scalars that affect their neighbours. Cleaning it twice equals cleaning it once.
    @Test func randomTextBecomesSafe() {
        var random = SystemRandomNumberGenerator()
        let special: [UInt32] = [
            0x301, 0x200C, 0x200D, 0xFE0F, 0x94D, 0x93C, 0x903, 0x915, 0x1100, 0x1161, 0x11A8, 0xAC00, 0x600, 0x1F469,
            0x1F3FB, 0x1F1E6, 0x202E, 0x20, 0x61, 0x9B, 0xE33, 0x2800, 0xE0020, 0x1039, 0x1000, 0x2028, 0x25, 0x489,
        ]
        for _ in 0..<300 {
            var text = String.UnicodeScalarView()
            for _ in 0..<Int.random(in: 0...120, using: &random) {
                let value = Bool.random(using: &random) ? special.randomElement()! : UInt32.random(in: 0...0x1FFFF)
                if let scalar = Unicode.Scalar(value) { text.append(scalar) }
            }
            for clean in [SafeText.title, SafeText.body, SafeText.identity, SafeText.line] {
                let once = clean(String(text))
                for character in once { expectSmall(character) }
                #expect(once.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7F...0x9F).contains($0.value) })
                #expect(!once.unicodeScalars.contains { "\u{202E}\u{2028}\u{200F}\u{61C}".unicodeScalars.contains($0) })
                #expect(Array(clean(once).unicodeScalars) == Array(once.unicodeScalars), "\(text.map(\.value))")
            }
        }
    }

    static let identities: [(String, String)] = [
        ("exe:/usr/bin/firefox", "exe:/usr/bin/firefox"), ("flatpak:org.gnome.Maps", "flatpak:org.gnome.Maps"),
        ("exe:/opt/My App/run", "exe:/opt/My App/run"), ("exe:/opt/a%25b", "exe:/opt/a%25b"),
        ("exe:/tmp/\u{202E}gnp.exe", "exe:/tmp/%E2%80%AEgnp.exe"), ("snap:a\u{9B}31m", "snap:a%C2%9B31m"),
        ("exe:/a  b ", "exe:/a %20b%20"), ("exe:/a\u{A0}b\u{200B}", "exe:/a%C2%A0b%E2%80%8B"),
        ("exe:/ünï/日本", "exe:/ünï/日本"), ("exe:/\u{301}", "exe:/\u{301}"), ("snap:a\nb", "snap:a%0Ab"),
    ]

    @Test(arguments: identities.indices)
    func unsafeScalarsOfIdentitiesArePercentEscaped(_ index: Int) {
        #expect(SafeText.identity(SafeTextTests.identities[index].0) == SafeTextTests.identities[index].1)
    }

    @Test func aLongIdentityKeepsItsKindAndProgram() {
        let shown = SafeText.identity("exe:/" + String(repeating: "a/", count: 2000) + "program")
        #expect(shown.unicodeScalars.count <= SafeText.identityScalars)
        #expect(shown.hasPrefix("exe:/a/") && shown.hasSuffix("a/program") && shown.contains("…"))
    }

    @Test func linesEscapeWhatIsNotVisible() {
        #expect(SafeText.line("two  spaces ") == "two  spaces ")
        #expect(SafeText.line("a\nb\u{1B}[31m\u{9B}\u{202E}\u{2028}") == "a\\u{a}b\\u{1b}[31m\\u{9b}\\u{202e}\\u{2028}")
        #expect(SafeText.line("naïve “日本語”…") == "naïve “日本語”…")
    }

    @Test(arguments: table.indices)
    func cleaned(_ index: Int) {
        let (text, expected) = SafeTextTests.table[index]
        #expect(SafeText.body(text) == expected)
        #expect(SafeText.title(text) == expected)
    }

    @Test func truncatedTextFitsWithItsEllipsis() {
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

    @Test func charactersAreNotSplit() {
        let family = "👩‍👩‍👧"
        let cut = SafeText.title(String(repeating: family, count: 40))
        #expect(cut.unicodeScalars.count <= Limits.titleScalars)
        #expect(cut.dropLast().allSatisfy { String($0) == family })
        #expect(cut.last == "…")
    }

    /// A letter with thousands of accents keeps only as many as fit a line.
    @Test func excessiveAccentsAreRemoved() {
        let text = "e" + String(repeating: "\u{301}", count: 2000) + "x"
        #expect(SafeText.title(text) == "e" + String(repeating: "\u{301}", count: ShownText.marks) + "x")
    }

    @Test func longTextIsTruncated() {
        let text = String(repeating: "a b\n\u{202E}", count: 200_000)
        #expect(SafeText.body(text).unicodeScalars.count == Limits.bodyScalars)
        #expect(SafeText.body(String(repeating: " ", count: 1 << 20)) == "")
    }

    @Test func cleaningTwiceChangesNothing() {
        for (text, _) in SafeTextTests.table + [(String(repeating: "ab ", count: 400), "")] {
            let once = SafeText.title(text)
            #expect(SafeText.title(once) == once)
        }
    }
}

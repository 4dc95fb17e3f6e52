// Key files must be parsed exactly as by GLib: selected files, and many random ones from a fixed seed.

import CGLib
import System
import Testing

@testable import PermissionDaemon
@testable import ProcessIdentity

/// The result of parsing a file.
private enum Said: Equatable, CustomStringConvertible {
    case refused, nothing
    case name([UInt8])

    /// By g_key_file_load_from_data and g_key_file_get_string.
    static func byGLib(_ data: [UInt8]) -> Said {
        let file = g_key_file_new()
        defer { g_key_file_free(file) }
        var error: UnsafeMutablePointer<GError>?
        defer { g_clear_error(&error) }
        let isLoaded = (data + [0]).withUnsafeBytes {
            g_key_file_load_from_data(
                file, $0.bindMemory(to: CChar.self).baseAddress, gsize(data.count), GKeyFileFlags(rawValue: 0), &error)
        }
        guard isLoaded != 0 else { return .refused }
        let text = g_key_file_get_string(file, "Application", "name", &error)
        defer { g_free(text) }
        guard let text, error == nil else { return .nothing }
        return .name(Array(String(cString: text).utf8))
    }

    static func byUs(_ data: [UInt8]) -> Said {
        guard let file = try? KeyFile(data) else { return .refused }
        return file.string("name", in: "Application").map { .name(Array($0.utf8)) } ?? .nothing
    }

    var description: String {
        switch self {
        case .refused: "refused"
        case .nothing: "nothing"
        case .name(let bytes): "“\(String(decoding: bytes, as: UTF8.self))”"
        }
    }
}

/// SplitMix64: the same numbers in every run.
private struct Dice: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

@Suite(.timeLimit(.minutes(3)))
struct KeyFileTests {
    /// Files in which another parser might find another app.
    nonisolated static let chosen: [String] = [
        "[Application]\nname=org.a.B\n", "[Application]\nname=org.a.B", "[Application]\r\nname=org.a.B\r\n",
        "[Application]\nname=org.a.B\r", "[Application]\nname = org.a.B\n", "[Application]\nname=org.a.B \n",
        "[Application]\nname\t=\t org.a.B\n", "  [Application]  \n\u{0C} name=org.a.B\n",
        "\u{FEFF}[Application]\nname=org.a.B\n",
        // Characters that other parsers treat as line ends.
        "[Instance]\nx=1\u{2028}[Application]\u{2028}name=org.a.B\n",
        "[Instance]\nx=1\u{0B}[Application]\u{0B}name=org.a.B\n",
        "[Application]\nx=1\u{85}name=org.a.B\nname=org.c.D\n", "[Instance]\nx=1\r[Application]\rname=org.a.B\n",
        "[Application]\nx=1\u{0C}name=org.a.B\n", "[Application]\nx=\0\nname=org.a.B\n",
        "[Application]\nname=org.a.B\0.C\n",
        "[Application]\0]\nname=org.a.B\n", "[Application]\0x\nname=org.a.B\n", "\0junk\n[Application]\nname=org.a.B\n",
        // Repeated and similar groups and keys.
        "[Application]\nname=org.a.B\nname=org.c.D\n",
        "[Application]\nname=org.a.B\n[X]\nname=org.e.F\n[Application]\ny=1\n",
        "[Application]\nname=org.a.B\n[Application]\nname=org.c.D\n", "[X]\nname=org.a.B\n",
        "[Application]\nname[de]=org.a.B\n",
        "[Application ]\nname=org.a.B\n", "[ Application]\nname=org.a.B\n", "[Application]]\nname=org.a.B\n",
        "[Application] x\nname=org.a.B\n", "[[Application]\nname=org.a.B\n", "[Application\nname=org.a.B\n",
        "[]\nname=org.a.B\n",
        "[Appli\tcation]\n", "[Application]\nName=org.a.B\n",
        // Files that GLib rejects as a whole, and similar ones.
        "name=org.a.B\n[Application]\n", "[Application]\nname=org.a.B\njunk\n", "[Application]\n=x\nname=org.a.B\n",
        "[Application]\nna]me=x\nname=org.a.B\n", "[Application]\nx[de=1\nname=org.a.B\n",
        "[Application]\nx [de]=1\nname=org.a.B\n",
        "[Application]\nx[d e]=1\nname=org.a.B\n", "[Application]\nx[ü]=1\nname=org.a.B\n",
        "[Application]\nx[\u{301}]=1\nname=org.a.B\n",
        "[Application]\nx[de]y=1\nname=org.a.B\n", "[Application]\nx[]=1\nname=org.a.B\n",
        "[Application]\n[x]=1\nname=org.a.B\n",
        "[Application]\nEncoding=UTF-8\nname=org.a.B\n", "[Application]\nEncoding=utf-8\nname=org.a.B\n",
        "[Application]\nEncoding=latin1\nname=org.a.B\n", "[X]\n[Application]\nEncoding=latin1\nname=org.a.B\n",
        "[Application]\nEncoding=UTF-8 \nname=org.a.B\n", "[Application]\nEncoding=\u{FF35}TF-8\nname=org.a.B\n",
        // Comments and escapes.
        "# c\n\n  # c\n[Application]\n#name=org.c.D\nname=org.a.B\n", "[Application]\nname=\\sorg.a.B\n",
        "[Application]\nname=org\\.a.B\n",
        "[Application]\nname=org.a.B\\\n", "[Application]\nname=a\\n\\t\\r\\\\b\n", "[Application]\nname=\n",
        "[Application]\nname\n",
        "", "\n", "\r\n", "\r", " ", "[Application]",
    ]

    @Test(arguments: chosen.indices)
    func chosenFiles(_ index: Int) {
        let data = Array(KeyFileTests.chosen[index].utf8)
        #expect(Said.byUs(data) == Said.byGLib(data), "\(KeyFileTests.chosen[index].debugDescription)")
    }

    @Test(arguments: [[0xFF], [0xC3], [0xE2, 0x80], [0xED, 0xA0, 0x80], [0xC0, 0x80]] as [[UInt8]])
    func invalidUTF8(_ bytes: [UInt8]) {
        for place in [
            "#%", "[%]", "[A%]\n[Application]", "[Application]\n%=1", "[Application]\nx[%]=1", "[Application]\nx=%",
        ] {
            let parts = place.split(separator: "%", omittingEmptySubsequences: false).map { Array($0.utf8) }
            let data = parts[0] + bytes + parts[1] + Array("\n[Application]\nname=org.a.B\n".utf8)
            #expect(Said.byUs(data) == Said.byGLib(data), "\(bytes) in \(place.debugDescription)")
        }
        let name = Array("[Application]\nname=org.a.".utf8) + bytes + Array("B\n".utf8)
        #expect(Said.byUs(name) == Said.byGLib(name))
    }

    @Test func sectionsAndKeysKeepTheirLines() throws {
        let file = try KeyFile(Array("\n[A]\nx=1\r\n\n# c\n [B] \n[A]\ny = \\s2 \nx=3".utf8))
        #expect(file.sections.map(\.name) == ["A", "B", "A"] && file.sections.map(\.line) == [2, 6, 7])
        #expect(file.sections.map { $0.pairs.map(\.line) } == [[3], [], [8, 9]])
        #expect(file.sections[2].pairs.map(\.key) == ["y", "x"])
        #expect(file.sections[2].pairs.map(\.value) == ["\\s2 ", "3"])
        #expect(file.string("x", in: "A") == "3" && file.string("y", in: "A") == " 2 ")
        #expect(file.hasGroup("B") && !file.hasGroup("C"))
    }

    @Test(arguments: [
        ("x=1\n", 1), ("[A]\njunk\n", 2), ("\n[A]\n; c\n", 3), ("[A]\r\n\r\n[x]=1\n", 3), ("#\n[]", 2),
        ("[A]\nEncoding=x", 2),
    ])
    func anErrorTellsItsLine(_ text: String, _ line: Int) {
        let error = #expect(throws: FileProblem.self) { try KeyFile(Array(text.utf8)) }
        #expect(error?.line == line)
    }

    private static let words: [[UInt8]] =
        [
            "[Application]", "[Application]\n", "[Instance]\n", "name", "name=", "name=org.a.B", "name=org.c.D\n",
            "org.a.B", "[", "]",
            "=", " ", "\t", "\u{0B}", "\u{0C}", "\r", "\n", "\r\n", "\0", "#", ";", "\\", "\\s", "\\n", "\\x", "[de]",
            "[ü]", "x=1\n",
            "Encoding=UTF-8\n", "Encoding=x\n", "\u{2028}", "\u{85}", "\u{FEFF}", "\u{301}", "\u{7F}", "\u{1}",
        ].map { Array($0.utf8) } + [[0xFF], [0xC3], [0xA0]]

    /// Random sequences of tokens, and selected files with random changes.
    @Test func randomFiles() {
        var dice = Dice(state: 1)
        var names = 0
        var refusals = 0
        for _ in 0..<40_000 {
            var data: [UInt8] = []
            if Bool.random(using: &dice) {
                data = Array(KeyFileTests.chosen.randomElement(using: &dice)!.utf8)
                for _ in 0..<Int.random(in: 1...3, using: &dice) {
                    let place = Int.random(in: 0...data.count, using: &dice)
                    let end = min(data.count, place + Int.random(in: 0...2, using: &dice))
                    data.replaceSubrange(place..<end, with: KeyFileTests.words.randomElement(using: &dice)!)
                }
            } else {
                for _ in 0..<Int.random(in: 1...12, using: &dice) {
                    data += KeyFileTests.words.randomElement(using: &dice)!
                }
            }
            let (ours, theirs) = (Said.byUs(data), Said.byGLib(data))
            if ours != theirs {
                let text = String(decoding: data, as: UTF8.self).debugDescription
                Issue.record("\(text): permd finds \(ours), GLib \(theirs)")
                return
            }
            if case .name = theirs { names += 1 }
            if theirs == .refused { refusals += 1 }
        }
        // Both results must occur often enough.
        #expect(names > 1000 && refusals > 1000, "\(names) names, \(refusals) refusals")
    }
}

// Which scalars of a text of others are shown, and how many of them one character on the screen may be made of.

/// A text that grows by the scalars that may be shown. A character is what a cursor steps over (a grapheme cluster, UAX #29):
/// it is drawn as one piece and never broken over two lines, so its size has to be bounded.
struct ShownText {
    /// Non-spacing marks on one letter. A letter of Hebrew with its points, of Vietnamese in NFD, of Thai or of Burmese has at
    /// most that many; more are drawn over the lines above and below.
    static let marks = 4
    /// Scalars of a character. A kiss of two people with skin tones has ten, the longest conjuncts of Sanskrit have twelve.
    static let characterScalars = 16

    private(set) var scalars: [Unicode.Scalar] = []
    /// Of the last character.
    private var length = 0
    private var markCount = 0
    /// A joiner or a virama waits for a letter.
    private var isLinked = false
    /// The last character is full: what would go on with it is left out.
    private var isOver = false

    /// Adds the scalar, after one space if there was white space before it; false when it is not shown here.
    mutating func append(_ scalar: Unicode.Scalar, afterSpace: Bool) -> Bool {
        guard ShownText.isShown(scalar) else { return false }
        let last = afterSpace || length == 0 ? nil : scalars.last
        let isAttached = ShownText.isAttached(scalar)
        if isAttached {
            guard let last, !isOver, ShownText.mayAttach(scalar, to: last) else { return false }
        }
        if let last, isAttached || isLinked && ShownText.isLetter(scalar) || ShownText.isJoined(last, scalar) {
            guard !isOver, length < ShownText.characterScalars else {
                isOver = true
                return false
            }
            let isMark = ShownText.isStacked(scalar)
            guard !isMark || markCount < ShownText.marks else { return false }
            markCount = isMark ? markCount + 1 : isAttached ? markCount : 0
            isLinked = isLinked && isAttached || ShownText.isLink(scalar)
            length += 1
        } else {
            endCharacter()
            length = 1
        }
        if afterSpace, !scalars.isEmpty { scalars.append(" ") }
        scalars.append(scalar)
        return true
    }

    /// The next scalar begins a character.
    mutating func endCharacter() {
        length = 0
        markCount = 0
        isLinked = false
        isOver = false
    }

    /// White space, and what is drawn as nothing though Unicode calls it a symbol (an empty Braille cell).
    static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar == " " || scalar.value > 0x7E && (scalar.properties.isWhitespace || scalar.value == 0x2800)
            || (0x09...0x0D).contains(scalar.value)
    }

    /// Left out everywhere: controls (C0, C1, escape), the marks, overrides and isolates of bidi, tags and everything else that
    /// is drawn as nothing, and what nobody knows how it is drawn (unassigned, private use).
    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x7F { return scalar.value >= 0x20 }
        if isJoiner(scalar) || isSelector(scalar) { return true }
        switch scalar.properties.generalCategory {
        case .control, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: return false
        // Signs that enclose the digits of an Arabic or Kaithi number, and the like: they are seen.
        case .format: return !scalar.properties.isDefaultIgnorableCodePoint && isNumberSign(scalar)
        default: return !scalar.properties.isDefaultIgnorableCodePoint
        }
    }

    private static func isNumberSign(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x0600...0x0605, 0x06DD, 0x070F, 0x0890, 0x0891, 0x08E2, 0x110BD, 0x110CD: true
        default: false
        }
    }

    /// Zero width non-joiner and joiner: Persian, the scripts of India and families of emoji need them.
    private static func isJoiner(_ scalar: Unicode.Scalar) -> Bool { (0x200C...0x200D).contains(scalar.value) }

    /// Variation selectors, Mongolian ones too: how the letter before is drawn.
    private static func isSelector(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x180B...0x180D, 0x180F, 0xFE00...0xFE0F, 0xE0100...0xE01EF: true
        default: false
        }
    }

    /// Has no place of its own: it needs a letter before it.
    private static func isAttached(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x300 { return false }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: return true
        default: return isJoiner(scalar)
        }
    }

    /// Drawn above, below or around what it is attached to.
    private static func isStacked(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: !isSelector(scalar)
        default: false
        }
    }

    /// A joiner between Latin, Greek or Cyrillic letters does nothing but tell two equal words apart.
    private static func mayAttach(_ scalar: Unicode.Scalar, to last: Unicode.Scalar) -> Bool {
        if isJoiner(scalar) { return last.value >= 0x0590 && !isJoiner(last) }
        if isSelector(scalar) { return !isJoiner(last) && !isSelector(last) }
        return true
    }

    /// Joins the letter that follows to the one before, over marks between.
    private static func isLink(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value == 0x200D || scalar.properties.canonicalCombiningClass == .virama
    }

    /// What may follow a link; emoji too.
    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x300 && (scalar.properties.isAlphabetic || scalar.properties.isEmoji)
    }

    /// Whether a scalar goes on with the character of the one before it. A flag ends after two letters by itself.
    private static func isJoined(_ last: Unicode.Scalar, _ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x300, last.value < 0x300 { return false }
        if (0x1F1E6...0x1F1FF).contains(last.value) { return false }
        var pair = String.UnicodeScalarView()
        pair.append(last)
        pair.append(scalar)
        return String(pair).count == 1
    }
}

// Which scalars of text from other programs are shown, and how many scalars a character may have.

/// A text to which only scalars that may be shown are added. A character (extended grapheme cluster, UAX #29) is drawn
/// as one piece and never broken between two lines, so its size is limited.
struct ShownText {
    /// The maximum number of non-spacing marks on a letter. Pointed Hebrew, Vietnamese in NFD, Thai and Burmese need no
    /// more; more would be drawn over the lines above and below.
    static let marks = 4
    /// The maximum number of scalars of a character. The emoji of a kiss of two people with skin tones has ten, and the
    /// longest Sanskrit conjuncts have twelve.
    static let characterScalars = 16

    private(set) var scalars: [Unicode.Scalar] = []
    /// The number of scalars of the last character.
    private var length = 0
    /// The number of non-spacing marks on its last letter.
    private var markCount = 0
    /// Whether the last character ends with a joiner or a virama, so that the next letter belongs to it.
    private var isLinked = false
    /// Whether the last character is full: more scalars of it are left out.
    private var isOver = false

    /// Adds a scalar, after a space if `afterSpace`. Returns false if the scalar is not shown here.
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

    /// Makes the next scalar begin a new character.
    mutating func endCharacter() {
        length = 0
        markCount = 0
        isLinked = false
        isOver = false
    }

    /// Whether the scalar is white space, or the empty Braille cell, which Unicode classifies as a symbol.
    static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
        scalar == " " || scalar.value > 0x7E && (scalar.properties.isWhitespace || scalar.value == 0x2800)
            || (0x09...0x0D).contains(scalar.value)
    }

    /// Whether the scalar may be shown at all. Not shown are controls (C0, C1, escape), bidirectional marks, overrides
    /// and isolates, tags and all other invisible characters, and unassigned and private-use characters, whose
    /// appearance is unknown.
    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x7F { return scalar.value >= 0x20 }
        if isJoiner(scalar) || isSelector(scalar) { return true }
        switch scalar.properties.generalCategory {
        case .control, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator: return false
        // Visible format characters, such as the signs that enclose the digits of an Arabic or Kaithi number.
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

    /// Zero width joiner and non-joiner, which Persian, the scripts of India and emoji of families need.
    private static func isJoiner(_ scalar: Unicode.Scalar) -> Bool { (0x200C...0x200D).contains(scalar.value) }

    /// Variation selectors, including the Mongolian ones. They select how the letter before them is drawn.
    private static func isSelector(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x180B...0x180D, 0x180F, 0xFE00...0xFE0F, 0xE0100...0xE01EF: true
        default: false
        }
    }

    /// Whether the scalar needs a letter before it.
    private static func isAttached(_ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x300 { return false }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .spacingMark, .enclosingMark: return true
        default: return isJoiner(scalar)
        }
    }

    /// Whether the scalar is drawn above, below or around the letter before it.
    private static func isStacked(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark: !isSelector(scalar)
        default: false
        }
    }

    /// Whether the scalar has an effect after `last`. A joiner after a Latin, Greek or Cyrillic letter has none, and
    /// would only make two words different that look the same.
    private static func mayAttach(_ scalar: Unicode.Scalar, to last: Unicode.Scalar) -> Bool {
        if isJoiner(scalar) { return last.value >= 0x0590 && !isJoiner(last) }
        if isSelector(scalar) { return !isJoiner(last) && !isSelector(last) }
        return true
    }

    /// Whether the scalar joins the letter after it to the letter before it, even with marks in between.
    private static func isLink(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value == 0x200D || scalar.properties.canonicalCombiningClass == .virama
    }

    /// Whether the scalar may follow a joiner or virama in the same character.
    private static func isLetter(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value >= 0x300 && (scalar.properties.isAlphabetic || scalar.properties.isEmoji)
    }

    /// Whether a scalar belongs to the same character as the one before it. False after a regional indicator: a flag
    /// has only two of them anyway.
    private static func isJoined(_ last: Unicode.Scalar, _ scalar: Unicode.Scalar) -> Bool {
        if scalar.value < 0x300, last.value < 0x300 { return false }
        if (0x1F1E6...0x1F1FF).contains(last.value) { return false }
        var pair = String.UnicodeScalarView()
        pair.append(last)
        pair.append(scalar)
        return String(pair).count == 1
    }
}

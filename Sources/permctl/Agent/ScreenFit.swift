// Fits a prompt's page to a screen: what is left out, shortened or scrolled where not everything has room.

/// The size of a terminal, in characters.
struct ScreenSize: Equatable {
    var columns: Int
    var rows: Int
}

/// What is on the screen of a prompt.
struct Drawing: Equatable {
    enum Content {
        /// The question and its choices.
        case page
        /// What can be read about it, without the choices: there is no room for both.
        case reading
        /// That the terminal is too small.
        case tooSmall
    }

    var lines: [TerminalText]
    let content: Content
    /// The first visible line of what scrolls, and how many lines of it are visible.
    var first = 0
    var visible = 0
}

/// The question, the choices and their keys are on the screen as a whole, or answers are not possible. In this order,
/// blank lines are left out, texts scroll, and the app's name is shortened.
struct ScreenFit {
    private let page: TerminalPage
    private let size: ScreenSize
    private let type: Typesetter
    private lazy var roomy = page.lines(type, isScrolling: false, isDense: false)
    private lazy var dense = page.lines(type, isScrolling: false, isDense: true).filter { $0.kind != .space }
    private lazy var scrolling = page.lines(type, isScrolling: true, isDense: true).filter { $0.kind != .space }

    /// Where less of it is visible, text does not scroll beside the question, but is read on its own.
    private static let leastText = 2
    private static let leastDetails = 4
    /// The columns to which a name is shortened where there is little room.
    private static let shortNames = [48, 32, 20, 12, 6]

    private init(_ page: TerminalPage, _ size: ScreenSize) {
        self.page = page
        self.size = size
        type = Typesetter(glyphs: page.glyphs, columns: size.columns)
    }

    static func drawing(_ page: TerminalPage, _ size: ScreenSize) -> Drawing {
        var fit = ScreenFit(page, size)
        return fit.drawing()
    }

    private mutating func drawing() -> Drawing {
        guard size.columns >= Typesetter.leastColumns else { return tooSmall() }
        let full = min(page.nameColumns, type.nameColumns)
        let questions = ([full] + ScreenFit.shortNames.filter { $0 < full }).map { columns in
            type.heading(page.question(nameColumns: columns)).map { TerminalPage.Line(text: $0, kind: .fixed) }
        }
        for question in questions {
            if let drawing = whole(question) ?? scrolled(question) { return drawing }
        }
        if page.isDetailed { return reading() }
        for question in questions {
            if let drawing = bare(question) { return drawing }
        }
        return tooSmall()
    }

    private func put(_ question: [TerminalPage.Line], in lines: [TerminalPage.Line]) -> [TerminalPage.Line] {
        lines.flatMap { $0.kind == .question ? question : [$0] }
    }

    private mutating func whole(_ question: [TerminalPage.Line]) -> Drawing? {
        for lines in [roomy, dense] where lines.count - 1 + question.count <= size.rows {
            return Drawing(lines: put(question, in: lines).map(\.text), content: .page)
        }
        return nil
    }

    private mutating func scrolled(_ question: [TerminalPage.Line]) -> Drawing? {
        let lines = put(question, in: scrolling)
        let texts = lines.indices.filter { lines[$0].kind.scrolls }
        let room = size.rows - (lines.count - texts.count)
        guard room >= (page.isDetailed ? ScreenFit.leastDetails : ScreenFit.leastText) else { return nil }
        let wanted = page.first ?? texts.firstIndex { lines[$0].kind == .detail } ?? 0
        let first = max(0, min(wanted, texts.count - room))
        let shown = Set(texts[first..<min(texts.count, first + room)])
        return Drawing(
            lines: lines.indices.filter { lines[$0].kind == .fixed || shown.contains($0) }.map { lines[$0].text },
            content: .page, first: first, visible: room)
    }

    /// The question and the choices alone, with as much of the text as there is room for.
    private mutating func bare(_ question: [TerminalPage.Line]) -> Drawing? {
        let lines = put(question, in: dense)
        var room = size.rows - lines.count { $0.kind == .fixed }
        guard room >= 0 else { return nil }
        let shown = lines.filter { line in
            guard line.kind.scrolls else { return true }
            room -= 1
            return room >= 0
        }
        return Drawing(lines: shown.map(\.text), content: .page)
    }

    private func reading() -> Drawing {
        let (text, keys) = page.reading(type)
        let room = max(1, size.rows - keys.count)
        let wanted = page.first ?? text.firstIndex { $0.kind == .detail } ?? 0
        let first = max(0, min(wanted, text.count - room))
        return Drawing(
            lines: text.map(\.text).dropFirst(first).prefix(room) + Array(keys.prefix(max(0, size.rows - 1))),
            content: .reading,
            first: first, visible: room)
    }

    private func tooSmall() -> Drawing {
        let width = max(2, size.columns - 1)
        return Drawing(lines: Array(page.tooSmall.wrapped(to: width).prefix(size.rows)), content: .tooSmall)
    }
}

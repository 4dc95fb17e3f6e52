// A prompt as one page of text: its words and their order, which are the window's, and what keys change.

import PermissionClient
import PermissionTexts

struct TerminalPage {
    /// What a line at the bottom of the page says after a key that did nothing.
    enum Note {
        case keys, nothingOn
    }

    struct Line {
        enum Kind {
            /// The place of the question, which has as many lines as the shown part of the app's name makes necessary.
            case question
            /// The choices and the keys: always on the screen, as the question is.
            case fixed
            /// Scrolls where there is no room for all of it.
            case text
            /// Scrolls too; the person has asked for it.
            case detail
            /// Is left out where there is no room for it.
            case space

            var scrolls: Bool { self == .text || self == .detail }
        }

        let text: TerminalText
        let kind: Kind
    }

    let prompt: AgentPrompt
    let glyphs: Glyphs
    let keys: PromptKeys
    var form: PromptForm
    /// What waits behind the prompt now.
    var behind: AgentPrompt.Behind
    var isDetailed = false
    /// What was decided before; empty until permd has told.
    var earlier: [String] = []
    var note: Note?
    /// The first line to show of what scrolls; nil for the details.
    var first: Int? = 0

    init(_ prompt: AgentPrompt, _ glyphs: Glyphs) {
        self.prompt = prompt
        self.glyphs = glyphs
        form = PromptForm(prompt.items, prompt.durations)
        keys = PromptKeys(form)
        behind = prompt.behind
    }

    // MARK: Words

    /// The question, with the app's name shortened in the middle.
    func question(nameColumns: Int) -> TerminalText {
        let (name, ask) = PromptTexts.heading(prompt)
        return glyphs.text(ask(glyphs.text(name).shortened(to: nameColumns, glyphs.ellipsis).text))
    }

    /// The columns of the whole name.
    var nameColumns: Int { glyphs.text(PromptTexts.heading(prompt).name).columns }

    func label(_ answer: PromptKeys.Answer) -> TerminalText {
        switch answer {
        case .allow(let duration?): glyphs.text(PromptTexts.label(duration))
        case .allow(nil): glyphs.text(PromptTexts.allow(form))
        case .deny: glyphs.text(PromptTexts.deny(form))
        case .notNow: glyphs.text(Texts.text("Not now"))
        }
    }

    /// What was answered: the label, and what is meant if that is not everything.
    func summary(_ answer: PromptKeys.Answer) -> TerminalText {
        guard case .allow = answer, form.isOn.contains(false) else { return label(answer) }
        let names = form.items.indices.filter { form.isOn[$0] }
            .compactMap { form.items[$0].question.permission.map(Texts.name) }
        return label(answer) + ": " + glyphs.text(names.joined(separator: ", "))
    }

    // MARK: Lines

    /// - Parameters:
    ///   - isScrolling: whether there is text to scroll to.
    ///   - isDense: whether the note takes the place of the line with the details, because there is no other.
    func lines(_ type: Typesetter, isScrolling: Bool, isDense: Bool) -> [Line] {
        let note = self.note.map { noteText($0) }
        let pause = prompt.pause.map { type.paragraph(glyphs.text(PromptTexts.pause($0))) } ?? []
        var lines: [Line] = []
        func add(_ texts: [TerminalText], _ kind: Line.Kind = .text) {
            lines += texts.map { Line(text: $0, kind: kind) }
        }
        add(explanation(type))
        if !lines.isEmpty { add([""], .space) }
        add([""], .question)
        add([""], .space)
        lines += rows(type)
        add([""], .space)
        if !form.durations.isEmpty {
            add(type.row([glyphs.text(Texts.text("Allow:"))] + answers(0..<durations)), .fixed)
        }
        if isDense, let note {
            add([type.cut(note)], .fixed)
        } else {
            lines += detailsRow(type, isScrolling)
        }
        if isDetailed { add(details(type), .detail) }
        add(pause)
        if form.durations.isEmpty || !isDense { add([""], .space) }
        add(type.row(answers(durations..<keys.answers.count)), .fixed)
        if !isDense, let note {
            add([""], .space)
            add(type.paragraph(note), .fixed)
        }
        return lines
    }

    /// How many of the answers stand beside “Allow:”.
    private var durations: Int { form.durations.count }

    private func answers(_ range: Range<Int>) -> [TerminalText] {
        range.map { TerminalText("[\($0 + 1)] ") + label(keys.answers[$0]) }
    }

    private func explanation(_ type: Typesetter) -> [TerminalText] {
        guard let explanation = prompt.explanation else { return [] }
        return type.paragraph(glyphs.text(PromptTexts.says(prompt)))
            + [explanation.title, explanation.body].flatMap { $0.isEmpty ? [] : type.quoted(glyphs.text($0)) }
    }

    /// The reasons, and what is asked, with a key to switch it if it is one of several.
    private func rows(_ type: Typesetter) -> [Line] {
        let reasons = PromptTexts.reasons(prompt)
        let names = form.items.map { $0.question.permission.map { glyphs.text(Texts.name($0)) } ?? "" }
        let widest = names.map(\.columns).max() ?? 0
        var lines: [Line] = []
        func add(_ texts: [TerminalText], _ kind: Line.Kind = .text) {
            lines += texts.map { Line(text: $0, kind: kind) }
        }
        if !reasons.common.isEmpty { add(type.quoted(glyphs.text(reasons.common))) }
        if !reasons.missing.isEmpty { add(type.paragraph(glyphs.text(reasons.missing))) }
        for (index, item) in form.items.enumerated() {
            var name = names[index]
            let kind: Line.Kind = form.hasSwitches ? .fixed : .text
            if form.hasSwitches { name = key(of: index) + (form.isOn[index] ? "[x] " : "[ ] ") + name }
            let device = glyphs.text(item.deviceName)
            if item.question.permission != nil, form.hasSwitches || !device.isEmpty {
                let start = type.paragraph(name, hanging: 8)
                let padding = TerminalText.spaces(widest - names[index].columns)
                if !device.isEmpty, start.count == 1, let whole = type.line(start[0] + padding, device) {
                    add([whole], kind)
                } else {
                    add(start, kind)
                    if !device.isEmpty { add(type.paragraph(.spaces(8) + device, hanging: 8)) }
                }
            }
            if !reasons.each[index].isEmpty { add(type.quoted(glyphs.text(reasons.each[index]))) }
            add(choices(of: index).flatMap { type.paragraph($0, hanging: 8) })
        }
        return lines
    }

    private func key(of item: Int) -> TerminalText {
        let index = keys.options.firstIndex { if case .onOff(item) = $0 { true } else { false } }
        return index.map { TerminalText("[\(PromptKeys.letter($0))] ") } ?? ""
    }

    /// The options of a portal's dialog, each with its key and whether it is selected.
    private func choices(of item: Int) -> [TerminalText] {
        keys.options.enumerated().compactMap { index, option in
            guard case .choice(let choice, let selection, let label, item) = option else { return nil }
            let isOn = form.selection(of: choice, in: item) == selection
            let mark: TerminalText =
                choice.isCheckbox ? (isOn ? "[x] " : "[ ] ") : (isOn ? glyphs.selected + " " : "( ) ")
            let name = choice.isCheckbox ? label : "\(choice.label): \(label)"
            return TerminalText("[\(PromptKeys.letter(index))] ") + mark + glyphs.text(name)
        }
    }

    /// The keys for more to read, and who asks next.
    private func detailsRow(_ type: Typesetter, _ isScrolling: Bool) -> [Line] {
        var parts = ["[\(String(PromptKeys.details))] " + glyphs.text(Texts.text("Details"))]
        if isScrolling { parts.append(glyphs.scrolling + " " + glyphs.text(Texts.text("More"))) }
        let row = type.row(parts)
        let next = glyphs.text(PromptTexts.behind(behind))
        guard !next.isEmpty, let last = row.last else { return row.map { Line(text: $0, kind: .fixed) } }
        if let whole = type.line(last, next) {
            return (row.dropLast() + [whole]).map { Line(text: $0, kind: .fixed) }
        }
        return row.map { Line(text: $0, kind: .fixed) } + [Line(text: type.cut(next), kind: .text)]
    }

    private func details(_ type: Typesetter) -> [TerminalText] {
        let lines = PromptTexts.details(prompt) + earlier + [PromptTexts.changeLater(prompt)]
        return lines.flatMap { type.paragraph(glyphs.exact($0), hanging: 4) }
    }

    private func noteText(_ note: Note) -> TerminalText {
        switch note {
        case .keys: glyphs.text(Texts.text("Press %@, or Escape for “%@”.", keys.all, Texts.text("Not now")))
        case .nothingOn:
            glyphs.text(Texts.text("Nothing is switched on. Press %@ to switch something on.", keys.switches))
        }
    }

    /// What is said where even the question and the choices do not fit.
    var tooSmall: TerminalText {
        glyphs.text(
            Texts.text(
                "The terminal is too small for this question. Make it larger, or press Escape for “%@”.",
                Texts.text("Not now")))
    }

    /// All that can be read, without the choices, and the key that leads back to them.
    func reading(_ type: Typesetter) -> (text: [Line], keys: [TerminalText]) {
        let all = lines(type, isScrolling: false, isDense: true)
        let back = "[\(String(PromptKeys.details))] " + glyphs.text(Texts.text("Back"))
        return (
            all.filter(\.kind.scrolls),
            type.row([back, glyphs.scrolling + " " + glyphs.text(Texts.text("More"))])
        )
    }
}

// All text that the agent shows, translated with gettext.

import CGtk
import Glibc
import PermissionClient

enum Texts {
    static let domain = "permd"

    /// All strings in English, which are the keys of the catalogs in po/.
    static let all =
        PermissionWords.all + [
            "Permission request", "%@ says:", "Unknown program %@", "“%@”",
            "The app does not say why.", "%@ wants to use: %@", "Device: %@", "%@ of %@",
            "Not now", "Don't allow", "Allow", "Allow:", "Continue", "How long",
            "Only this time", "Until I log out", "Always", "Holds until the app is closed", "Holds until you log out",
            "Holds until you change it in Permissions", "Decides nothing; the app may ask again",
            "Decides nothing; the app cannot ask again for %@ minutes",
            "After Not now, the app cannot ask again for %@ minutes.",
            "then: %@", "then: %@ and %@ more", "Details", "Name: %@", "Identity: %@", "Program: %@", "Asked at %@",
            "In a sandbox: it gets only what it is allowed.",
            "Not in a sandbox: it can open devices without asking.",
            "Nothing was decided about this before.", "%@: always allowed", "%@: allowed until you log out",
            "%@: allowed until %@", "%@: allowed until the app is closed", "%@: not allowed", "%@: not asked until %@",
            "You can change it later in Permissions.", "You can change it later with: %@", "Open Permissions",
        ]

    /// Finds the catalogs: in `$PERMD_LOCALE_DIR`, else relative to the program (`../share/locale`), else the system's.
    static func bind() {
        setlocale(LC_ALL, "")
        var folders = ["/usr/share/locale"]
        if let beside = beside() { folders.insert(beside, at: 0) }
        if let chosen = getenv("PERMD_LOCALE_DIR") { folders.insert(String(cString: chosen), at: 0) }
        let folder = folders.first { access($0, R_OK) == 0 }
        bindtextdomain(domain, folder)
        bind_textdomain_codeset(domain, "UTF-8")
    }

    private static func beside() -> String? {
        var buffer = [UInt8](repeating: 0, count: 4096)
        let length = max(0, readlink("/proc/self/exe", &buffer, buffer.count))
        let parts = String(decoding: buffer[..<length], as: UTF8.self).split(separator: "/").dropLast(2)
        return "/" + parts.joined(separator: "/") + "/share/locale"
    }

    /// The string in the person's language, with each `%@` replaced in order. Values are never used as formats.
    static func text(_ key: String, _ values: String...) -> String {
        // Without a translation, dgettext(3) returns the pointer it was given, so the result is copied here.
        let translated = key.withCString { String(cString: dgettext(domain, $0)) }
        let pieces = translated.split(separator: "%@", omittingEmptySubsequences: false)
        var result = ""
        for (index, piece) in pieces.enumerated() {
            if index > 0 { result += index <= values.count ? values[index - 1] : "" }
            result += piece
        }
        return result
    }

    // MARK: Questions

    /// The app's name as a question has it, and the question with any other in its place. A program without a desktop
    /// entry is called unknown; its name is the last part of its path.
    static func heading(_ prompt: AgentPrompt) -> (name: String, ask: (String) -> String) {
        let permissions = prompt.items.compactMap(\.question.permission)
        guard !permissions.isEmpty else {
            // Only a portal asks this, one question at a time.
            let title = prompt.items.first?.dialog?.title ?? ""
            return ("", { _ in title })
        }
        return (prompt.displayName, { question(permissions, shown($0, prompt)) })
    }

    private static func question(_ permissions: [Permission], _ name: String) -> String {
        if permissions.count == 1 { return text(PermissionWords.of(permissions[0]).question, name) }
        guard let key = PermissionWords.questions[Set(permissions)] else {
            return text("%@ wants to use: %@", name, permissions.map(self.name).joined(separator: ", "))
        }
        return text(key, name)
    }

    private static func shown(_ name: String, _ prompt: AgentPrompt) -> String {
        guard isUnknownProgram(prompt) else { return isolated(name) }
        return text("Unknown program %@", text("“%@”", isolated(name)))
    }

    /// The question about one item, for dialogs that ask about one at a time.
    static func question(_ item: AgentPrompt.Item, _ prompt: AgentPrompt) -> String {
        guard let permission = item.question.permission else { return item.dialog?.title ?? "" }
        return question([permission], shown(prompt.displayName, prompt))
    }

    private static func isUnknownProgram(_ prompt: AgentPrompt) -> Bool { prompt.app.hasPrefix("exe:") }

    static func name(_ permission: Permission) -> String { text(PermissionWords.of(permission).name) }

    /// The app's reason, marked as the app's words, or the text of a question that only portals ask, which may come
    /// from the app as well; empty if there is none.
    static func reason(_ item: AgentPrompt.Item) -> String {
        let words = item.dialog == nil ? item.reason : item.portalWords
        return words.isEmpty ? "" : text("“%@”", isolated(words))
    }

    // MARK: Answers

    static func label(_ choice: PromptChoice) -> String {
        switch choice {
        case .deny: text("Don't allow")
        case .once: text("Only this time")
        case .session: text("Until I log out")
        case .always: text("Always")
        }
    }

    /// The description that a screen reader adds to the label of an answer or a duration.
    static func description(_ choice: PromptChoice) -> String {
        switch choice {
        case .deny, .always: text("Holds until you change it in Permissions")
        case .once: text("Holds until the app is closed")
        case .session: text("Holds until you log out")
        }
    }

    static func notNow(_ prompt: AgentPrompt) -> String {
        guard let pause = prompt.pause else { return text("Decides nothing; the app may ask again") }
        return text("Decides nothing; the app cannot ask again for %@ minutes", minutes(pause))
    }

    static func pause(_ seconds: UInt32) -> String {
        text("After Not now, the app cannot ask again for %@ minutes.", minutes(seconds))
    }

    private static func minutes(_ seconds: UInt32) -> String { "\(max(1, (UInt64(seconds) + 30) / 60))" }

    // MARK: Around the question

    /// Which apps ask next; empty if none does.
    static func behind(_ waiting: AgentPrompt.Behind) -> String {
        guard waiting.count > 0 else { return "" }
        let names = waiting.apps.prefix(2).map(isolated).joined(separator: ", ")
        let more = waiting.count - min(2, waiting.apps.count)
        return more > 0 ? text("then: %@ and %@ more", names, "\(more)") : text("then: %@", names)
    }

    /// A line for each thing to know about the app.
    static func details(_ prompt: AgentPrompt) -> [String] {
        var lines = [text("Name: %@", isolated(prompt.displayName))]
        lines.append(
            isUnknownProgram(prompt)
                ? text("Program: %@", isolated(String(prompt.app.dropFirst("exe:".count))))
                : text("Identity: %@", isolated(prompt.app)))
        lines.append(
            prompt.isSandboxed
                ? text("In a sandbox: it gets only what it is allowed.")
                : text("Not in a sandbox: it can open devices without asking."))
        if let since = prompt.since { lines.append(text("Asked at %@", time(since))) }
        return lines
    }

    /// What was decided before about something that the prompt asks; nil for another decision.
    static func decision(_ row: DecisionRow, among asked: [Permission]) -> String? {
        guard let permission = row.question.permission, asked.contains(permission) else { return nil }
        let name = name(permission)
        switch row.decision {
        case .deny: return text("%@: not allowed", name)
        case .pause: return text("%@: not asked until %@", name, time(row.until ?? 0))
        case .unknown: return nil
        case .grant:
            switch row.duration {
            case .once: return text("%@: allowed until the app is closed", name)
            case .session: return text("%@: allowed until you log out", name)
            case .until: return text("%@: allowed until %@", name, time(row.until ?? 0))
            case .always, nil: return text("%@: always allowed", name)
            }
        }
    }

    private static func time(_ time: EpochSeconds) -> String {
        guard let local = g_date_time_new_from_unix_local(gint64(time)) else { return "" }
        defer { g_date_time_unref(local) }
        guard let text = g_date_time_format(local, "%c") else { return "" }
        defer { g_free(text) }
        return String(cString: text)
    }

    /// Isolates the text direction of a name from its surroundings (Unicode FSI and PDI).
    static func isolated(_ name: String) -> String { "\u{2068}\(name)\u{2069}" }
}

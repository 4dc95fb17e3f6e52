// Which rows of the history are shown.

import PermissionClient
import PermissionTexts

struct HistoryFilter {
    var app: AppID?
    var question: Question?
    var outcome: Outcome?
    /// A part of the app's name or identity, of the kind, or of the outcome, in the person's language.
    var search = ""

    func apply(_ rows: [HistoryRow], _ names: AppNames) -> [HistoryRow] {
        let search = search.lowercased()
        guard app != nil || question != nil || outcome != nil || !search.isEmpty else { return rows }
        // Each app and each pair of kind and outcome is searched once.
        var apps: [AppID: Bool] = [:]
        var words: [String: Bool] = [:]
        return rows.filter { row in
            if let app, row.app != app { return false }
            if let question, row.question != question { return false }
            if let outcome, row.outcome != outcome { return false }
            if search.isEmpty { return true }
            let isFound =
                apps[row.app] ?? AppEntry.searched(row.app, names.look(row.app)).contains(search)
            apps[row.app] = isFound
            if isFound { return true }
            let key = "\(row.question.name) \(row.outcome.rawValue)"
            let hasWord =
                words[key]
                ?? "\(Texts.name(row.question))\n\(Texts.name(row.outcome))".lowercased().contains(search)
            words[key] = hasWord
            return hasWord
        }
    }
}

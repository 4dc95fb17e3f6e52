// A row of the history as text.

import PermissionClient
import PermissionTexts

@MainActor
enum HistoryText {
    /// - Parameter names: The names of apps, for lists of more than one app.
    static func content(_ row: HistoryRow, names: AppNames?) -> RowContent {
        let item = Texts.name(row.item)
        let details = details(row)
        let detail = TimeText.short(row.time)
        let icon = Icons.of(row.item.permission)
        guard let names else { return RowContent(icon: icon, title: item, subtitle: details, detail: detail) }
        return RowContent(
            icon: icon, title: row.app.map { names.label(of: $0).name } ?? Texts.text("Every App"),
            subtitle: "\(item) · \(details)", detail: detail)
    }

    private static func details(_ row: HistoryRow) -> String {
        var parts = [Texts.name(row.outcome)]
        if let seconds = row.seconds { parts[0] = Texts.text("Used for %@", TimeText.span(Int64(seconds))) }
        if let objection = row.status.flatMap(UseTexts.objection) { parts.append(objection) }
        let author = Texts.author(row.by)
        if !author.isEmpty, row.outcome != .restricted { parts.append(author) }
        if row.count > 1 { parts.append(Texts.text("%@ times", "\(row.count)")) }
        return parts.joined(separator: " · ")
    }
}

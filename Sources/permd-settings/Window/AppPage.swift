// The page of an app: its permissions, its history, and the button that forgets it.

import CAdwaita
import PermissionClient
import PermissionTexts

@MainActor
final class AppPage {
    /// Rows of the history on the page; the page of the history has all.
    private static let mostHistory = 10

    let widget: Widget
    let onBack = Link<Void>()
    let onHistory = Link<AppID>()
    private let model: Model
    private let changes: Changes
    private let title = adw_window_title_new("", "")!
    private let icon = Widgets.icon(Icons.program, size: 64)
    private let name = Widgets.label("", style: "title-1", wraps: true)
    private let identity = Widgets.label("", style: "permd-subtitle", wraps: true)
    private let permissions: Widget
    private let history: Widget
    private let forget: Widget
    private var rows: [PermissionRow] = []
    private var historyRows: [Widget] = []
    private var shownHistory: [HistoryRow]?
    private var app: AppID?
    /// The number of the last time that the statuses were asked for; older answers are ignored.
    private var turn = 0

    init(_ model: Model, _ changes: Changes) {
        self.model = model
        self.changes = changes
        permissions = cadw_group_new(Texts.text("Permissions"))
        history = cadw_group_new(Texts.text("History"))
        forget = gtk_button_new_with_label(Texts.text("Forget This App"))
        let content = Widgets.box(GTK_ORIENTATION_VERTICAL, spacing: 24)
        let header = Widgets.box(GTK_ORIENTATION_VERTICAL, spacing: 6, icon, name, identity)
        for label in [name, identity] { cadw_label_align(label, 0.5, GTK_JUSTIFY_CENTER) }
        for part in [header, permissions, forget, history] { cadw_box_append(content, part) }
        Widgets.margins(content, horizontal: 12, vertical: 24)
        widget = Widgets.box(
            GTK_ORIENTATION_VERTICAL, Widgets.header(title, onBack),
            cadw_scrolled(cadw_clamp(content, 720), 0).expands())
        gtk_widget_add_css_class(forget, "destructive-action")
        gtk_widget_set_halign(forget, GTK_ALIGN_CENTER)
        cadw_describe(forget, Texts.text("Removes all decisions about it. The history stays."))
        forget.on("clicked") { [unowned self] in
            if let app { changes.forget(app) }
        }
        for permission in Permission.allCases {
            let row = PermissionRow(permission)
            row.onClose = { [unowned self] in read() }
            row.onSelect = { [unowned self] selection, before in
                if let app { changes.apply(selection, app, permission, before: before) }
            }
            rows.append(row)
            cadw_group_add(permissions, row.widget)
        }
        changes.onFailure.body = { [unowned self] _ in
            for row in rows { row.forget() }
            read()
        }
        model.onChange { [unowned self] part in
            if part != .presence, app != nil { show() }
        }
    }

    func show(_ app: AppID) {
        if self.app != app {
            for row in rows { row.forget() }
            shownHistory = nil
        }
        self.app = app
        show()
    }

    private func show() {
        guard let app else { return }
        let entry = model.entry(app)
        cadw_title_set(title, entry.label.name, "")
        Widgets.setIcon(icon, Icons.of(entry.label), size: 64)
        cadw_label_set(name, entry.label.name)
        let identity = SafeText.identity(app.description)
        cadw_label_set(
            self.identity, app.isSandboxed ? "\(identity) · \(Texts.text("In a sandbox"))" : identity)
        gtk_widget_set_sensitive(forget, model.decisions(app).isEmpty ? 0 : 1)
        showHistory(model.lists.history.filter { $0.app == app })
        read()
    }

    private func read() {
        guard let app else { return }
        turn += 1
        let number = turn
        inBackground { [settings = model.settings] () async throws(ClientError) in
            try await settings.statuses(app: app.description)
        } then: { [self] result in
            guard number == turn, self.app == app else { return }
            switch result {
            case .success(let statuses): fill(app, statuses)
            case .failure(let error): model.fail(error)
            }
        }
    }

    private func fill(_ app: AppID, _ statuses: [StatusRow]) {
        for row in rows {
            guard let status = statuses.first(where: { $0.permission == row.permission }) else { continue }
            let pause = model.decisions(app).first {
                $0.item == .permission(row.permission) && $0.decision == .pause
            }
            let isUsed = model.lists.uses.contains { $0.app == app && $0.permission == row.permission }
            let last = model.lists.history.first {
                $0.app == app && $0.item == .permission(row.permission) && $0.outcome == .used
            }
            let hasDevice = model.lists.devices.contains { $0.permission == row.permission }
            let isOff = model.lists.switches[row.permission] == false
            row.show(status, pause, isOff: isOff, hasDevice: hasDevice, isUsed: isUsed, lastUse: last)
        }
    }

    private func showHistory(_ all: [HistoryRow]) {
        let shown = Array(all.prefix(AppPage.mostHistory))
        guard shown != shownHistory else { return }
        shownHistory = shown
        for row in historyRows { cadw_group_remove(history, row) }
        historyRows = shown.map { entry in
            let content = HistoryText.content(entry, names: nil)
            let row = Widgets.row(content.title, content.subtitle, icon: content.icon)
            cadw_row_add_suffix(row, Widgets.label(content.detail, style: "permd-subtitle"))
            return row
        }
        if shown.isEmpty {
            historyRows = [Widgets.row(Texts.text("It has not asked for anything yet."))]
        } else if all.count > shown.count {
            let row = Widgets.row(Texts.text("Show All"))
            cadw_row_add_suffix(row, Widgets.icon("go-next-symbolic", size: 16))
            Widgets.activate(row) { [unowned self] in
                if let app { onHistory.follow(app) }
            }
            historyRows.append(row)
        }
        for row in historyRows { cadw_group_add(history, row) }
    }
}

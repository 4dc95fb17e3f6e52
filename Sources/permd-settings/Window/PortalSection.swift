// What portals remember, below the permissions: who may record or control the screen and the like, with a button that
// deletes it. permd decides none of it and tells of no changes, so it is read whenever the page is shown.

import CAdwaita
import DesktopServices
import PermissionClient
import PermissionTexts

@MainActor
final class PortalSection {
    let widget: Widget
    private let model: Model
    private let changes: Changes
    private var rows: [Widget] = []
    /// The number of the last reading; older answers are ignored.
    private var turn = 0

    init(_ model: Model, _ changes: Changes) {
        self.model = model
        self.changes = changes
        widget = cadw_group_new(Texts.text("Remembered by Portals"))
        widget.setVisible(false)
    }

    func read() {
        turn += 1
        let number = turn
        inBackground { [settings = model.settings] () async throws(ClientError) in
            try await settings.portalRows()
        } then: { [self] result in
            // Without that store there is nothing to show, and what keeps it from answering is no matter of permd.
            if number == turn { show((try? result.get()) ?? []) }
        }
    }

    /// An app may have several entries for a screen, one for each session that it may take up again.
    private func show(_ all: [PortalRow]) {
        for row in rows { cadw_group_remove(widget, row) }
        var groups: [[PortalRow]] = []
        for row in all {
            if let last = groups.last?.first, last.isAlike(row) {
                groups[groups.count - 1].append(row)
            } else {
                groups.append([row])
            }
        }
        rows = groups.map(row)
        for row in rows { cadw_group_add(widget, row) }
        widget.setVisible(!rows.isEmpty)
    }

    private func row(_ alike: [PortalRow]) -> Widget {
        let first = alike[0]
        let label = first.app.map { model.names.label(of: $0) }
        let name = label?.name ?? SafeText.line(first.appID)
        let title = name.isEmpty ? Texts.text("Programs without an ID") : name
        let what = PortalSection.text(first.table)
        let row = Widgets.row(
            title, first.verdict == .grant ? what : Texts.text("%@: not allowed", what),
            icon: label.map(Icons.of) ?? Icons.program)
        let button = Widgets.button(Texts.text("Forget")) { [changes, weak self] in
            changes.forget(alike, Texts.text("%@ is forgotten and will ask again", Texts.isolated(title))) {
                self?.read()
            }
        }
        cadw_describe(button, "\(Texts.isolated(title)): \(what)")
        cadw_row_add_suffix(row, button)
        return row
    }

    private static func text(_ table: PortalTable) -> String {
        switch table {
        case .screencast: Texts.text("Record the screen")
        case .remoteDesktop: Texts.text("Control the screen, the pointer and the keyboard")
        case .inputCapture: Texts.text("Capture what the pointer and the keyboard do")
        case .screenshot: Texts.text("Take screenshots")
        case .usb: Texts.text("Use USB devices")
        case .background: Texts.text("Run in the background")
        case .wallpaper: Texts.text("Change the wallpaper")
        }
    }
}

extension PortalRow {
    fileprivate func isAlike(_ other: PortalRow) -> Bool {
        appID == other.appID && table == other.table && verdict == other.verdict
    }
}

// What apps used in the last seven days: a row for each app and permission, with a bar for each day.

import CAdwaita
import PermissionClient
import PermissionTexts

@MainActor
final class WeekPage {
    static let dayCount = 7
    /// Rows that are shown of each kind; the history has the rest. A program can make the kernel know it by many names.
    private static let mostRows = 50

    let widget: Widget
    let onOpen = Link<AppID>()
    private let model: Model
    private let nothing = cadw_status_new("x-office-calendar-symbolic", "")!
    private let groups: Widget
    /// What was used without a grant, and the rest.
    private let ungranted = cadw_group_new(Texts.text("Without Your Permission"))!
    private let granted = cadw_group_new(Texts.text("With Your Permission"))!
    private var rows: [(group: Widget, row: Widget)] = []
    private var shown: [UseSummary]?

    init(_ model: Model) {
        self.model = model
        groups = Widgets.box(GTK_ORIENTATION_VERTICAL, spacing: 24, ungranted, granted)
        Widgets.margins(groups, horizontal: 12, vertical: 12)
        cadw_status_set(
            nothing, "x-office-calendar-symbolic", Texts.text("Nothing Was Used"),
            Texts.text("What apps used in the last seven days is listed here, with a bar for each day."), nil)
        widget = Widgets.box(
            GTK_ORIENTATION_VERTICAL, nothing.expands(), cadw_scrolled(cadw_clamp(groups, 720), 0).expands())
        model.onChange { [unowned self] part in
            if [.apps, .history, .uses].contains(part) { show() }
        }
    }

    private func show() {
        let now = TimeText.now()
        let days = LocalDay.starts(of: WeekPage.dayCount, before: now)
        let new = UseSummary.of(model.lists.history, model.lists.uses, days: days, now: now)
        guard new != shown else { return }
        shown = new
        for (group, row) in rows { cadw_group_remove(group, row) }
        rows = [(ungranted, new.filter { $0.ungranted > 0 }), (granted, new.filter { $0.ungranted == 0 })]
            .flatMap { group, summaries in
                group.setVisible(!summaries.isEmpty)
                return summaries.prefix(WeekPage.mostRows).map { (group, row($0, days)) }
            }
        for (group, row) in rows { cadw_group_add(group, row) }
        nothing.setVisible(new.isEmpty)
        if let scrolled = gtk_widget_get_last_child(widget) { scrolled.setVisible(!new.isEmpty) }
    }

    private func row(_ summary: UseSummary, _ days: [EpochSeconds]) -> Widget {
        let name = model.names.label(of: summary.key.app).name
        let row = Widgets.row(name, WeekPage.details(summary), icon: Icons.of(summary.key.permission))
        cadw_row_add_suffix(row, WeekPage.bars(summary, days))
        Widgets.activate(row) { [onOpen] in onOpen.follow(summary.key.app) }
        return row
    }

    private static func details(_ summary: UseSummary) -> String {
        var parts = [
            Texts.name(summary.key.permission),
            summary.count == 1 ? Texts.text("once") : Texts.text("%@ times", "\(summary.count)"),
            TimeText.span(summary.seconds),
            summary.isInUse ? Texts.text("now") : Texts.text("last %@", TimeText.short(summary.last)),
        ]
        if summary.ungranted > 0, summary.ungranted < summary.count {
            parts.append(Texts.text("%@ of them without your permission", "\(summary.ungranted)"))
        }
        return parts.joined(separator: " · ")
    }

    // MARK: Bars

    private static let (barWidth, barHeight): (Int32, Int32) = (6, 32)
    /// The height of a day without a use, which shows where the day is.
    private static let least: Int32 = 2

    /// A bar for each day, as high as its use is long, compared with the other days. What it shows is its description as well.
    private static func bars(_ summary: UseSummary, _ days: [EpochSeconds]) -> Widget {
        let box = Widgets.box(GTK_ORIENTATION_HORIZONTAL, spacing: 2)
        let longest = max(1, summary.days.max() ?? 1)
        for seconds in summary.days {
            let bar = Widgets.box(GTK_ORIENTATION_VERTICAL)
            let height = seconds == 0 ? least : max(2 * least, Int32(EpochSeconds(barHeight) * seconds / longest))
            gtk_widget_set_size_request(bar, barWidth, height)
            gtk_widget_set_valign(bar, GTK_ALIGN_END)
            gtk_widget_add_css_class(bar, "permd-bar")
            if seconds == 0 {
                gtk_widget_add_css_class(bar, "permd-none")
            } else if summary.ungranted > 0 {
                gtk_widget_add_css_class(bar, "permd-ungranted")
            }
            cadw_box_append(box, bar)
        }
        gtk_widget_set_size_request(box, -1, barHeight)
        gtk_widget_set_valign(box, GTK_ALIGN_CENTER)
        let text = zip(days, summary.days).map { "\(Texts.time($0, "%a")) \(TimeText.span($1))" }
            .joined(separator: ", ")
        gtk_widget_set_tooltip_text(box, text)
        cadw_name(box, text)
        return box
    }
}

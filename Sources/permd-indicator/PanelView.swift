// What the item of the panel shows: its icon, its tooltip and the entries of its menu.

import DesktopServices
import PermissionClient
import PermissionTexts

struct PanelView: Sendable, Hashable {
    enum Entry: Sendable, Hashable {
        /// Says something, and cannot be chosen.
        case line(String, icon: String)
        case command(Command, label: String)
        case separator
    }

    /// The uses that the menu shows: a menu with three entries for each of them still fits a small screen.
    private static let mostUses = 8
    /// The names in a line of the tooltip.
    private static let mostNames = 4

    let icon: String
    let title: String
    /// Lines. They are the tooltip's title, because some panels show nothing else.
    let tooltip: String
    let menu: [Entry]

    /// - Parameters:
    ///   - groups: In the order in which they are shown. The first one's permission gives the icon.
    ///   - switches: Which permissions are on.
    ///   - hasWindow: Whether there is a window for all permissions.
    init(_ groups: [UseGroup], _ switches: [Permission: Bool], hasWindow: Bool) {
        icon = groups.first.map { PermissionText.of($0.used.permission).icon } ?? ""
        title = Texts.text("In Use Now")
        tooltip = PanelView.tooltip(groups)
        menu = PanelView.menu(groups, switches, hasWindow: hasWindow)
    }

    private static func tooltip(_ groups: [UseGroup]) -> String {
        let lines = UseList.order.compactMap { permission -> String? in
            let names = groups.filter { $0.used.permission == permission }.map(\.shownName)
            guard !names.isEmpty else { return nil }
            var text = names.prefix(mostNames).joined(separator: ", ")
            if names.count > mostNames { text = Texts.text("%@ and %@ more", text, "\(names.count - mostNames)") }
            return Texts.text("%@: %@", Texts.name(permission), text)
        }
        return lines.map(Markup.withoutTags).joined(separator: "\n")
    }

    private static func menu(_ groups: [UseGroup], _ switches: [Permission: Bool], hasWindow: Bool) -> [Entry] {
        var entries: [Entry] = []
        for group in groups.prefix(mostUses) {
            let icon = PermissionText.of(group.used.permission).icon
            entries.append(.line(group.line, icon: icon))
            if !group.isCut {
                let text = Texts.text("It has opened the device itself. Only quitting it ends that.")
                entries.append(.line(text, icon: ""))
            }
            if group.canBeStopped {
                entries.append(.command(.stop(group.used), label: Texts.text("Stop %@", group.shownName)))
            }
            entries.append(.separator)
        }
        if groups.count > mostUses {
            entries.append(.line(Texts.text("%@ more", "\(groups.count - mostUses)"), icon: ""))
            entries.append(.separator)
        }
        for permission in UseList.order where groups.contains(where: { $0.used.permission == permission }) {
            guard let isOn = switches[permission] else { continue }
            let label = isOn ? Texts.pattern("Switch off %@ for every app") : Texts.pattern("Switch on %@")
            entries.append(
                .command(.turn(permission, on: !isOn), label: Texts.filled(label, [Texts.name(permission)])))
        }
        if hasWindow {
            entries.append(.command(.openPermissions, label: Texts.text("Permissions…")))
        } else {
            entries.removeLast(entries.last == .separator ? 1 : 0)
        }
        return entries
    }
}

extension UseGroup {
    /// Isolated from the direction of the text around it.
    var shownName: String {
        guard used.app != nil, !name.isEmpty else { return Texts.text("A program that cannot be identified") }
        return Texts.isolated(name)
    }

    /// Who uses what, and why that is not what the person has allowed.
    fileprivate var line: String {
        let line = Texts.text("%@: %@", shownName, Texts.name(used.permission))
        return ([line] + [UseTexts.objection(status)].compactMap(\.self)).joined(separator: " · ")
    }
}

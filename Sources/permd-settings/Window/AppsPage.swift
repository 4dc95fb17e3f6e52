// All apps, with what each may use.

import CAdwaita
import PermissionClient
import PermissionTexts

@MainActor
final class AppsPage {
    let onOpen = Link<AppID>()
    let list: SearchableList<AppEntry>
    private let model: Model

    init(_ model: Model) {
        self.model = model
        list = SearchableList(
            name: Texts.text("Apps"), hint: Texts.text("Search apps"), iconSize: 32,
            content: {
                RowContent(icon: Icons.of($0.label), title: $0.label.name, subtitle: AppsPage.summary($0))
            }, open: { [onOpen] in onOpen.follow($0.app) })
        list.onSearch = { [unowned self] in show() }
        model.onChange { [unowned self] part in
            if part == .apps { show() }
        }
    }

    private func show() {
        let text = list.text
        list.show(
            model.lists.apps.filter { $0.matches(text) },
            orElse: model.lists.apps.isEmpty
                ? EmptyState(
                    icon: "view-app-grid-symbolic", title: Texts.text("No Apps Yet"),
                    text: Texts.text("An app is listed here once it has asked for a permission or used a device."))
                : .noAppFound)
    }

    /// `Allowed: Camera, Microphone · Not allowed: Location`.
    static func summary(_ entry: AppEntry) -> String {
        let parts = [
            (Texts.pattern("Allowed: %@"), DecisionRow.Kind.grant), (Texts.pattern("Not allowed: %@"), .deny),
            (Texts.pattern("Paused: %@"), .pause),
        ].compactMap { pattern, kind -> String? in
            let permissions = entry.permissions(kind)
            return permissions.isEmpty ? nil : Texts.filled(pattern, [Texts.list(permissions)])
        }
        let decided = parts.isEmpty ? [Texts.text("Nothing decided")] : parts
        // Programs without a desktop entry are told apart by their paths.
        let path = entry.app.kind == .exe ? [SafeText.identity(entry.app.name)] : []
        return (decided + path).joined(separator: " · ")
    }
}

extension EmptyState {
    @MainActor static var noAppFound: EmptyState {
        EmptyState(
            icon: "system-search-symbolic", title: Texts.text("No App Found"),
            text: Texts.text("Search for a part of its name or of its identity."))
    }
}

// The window: what is in use now, the pages, and the way between them.

import CAdwaita
import PermissionClient
import PermissionTexts

@MainActor
final class MainWindow {
    private enum Page: Equatable {
        case main
        case app(AppID)
        case kind(Permission)
    }

    private let model = Model()
    private let window: Widget
    private let stack = cadw_stack_new()!
    private let pages = adw_view_stack_new()!
    private let changes: Changes
    private let absence: AbsencePage
    private let inUse: InUseSection
    private let appsPage: AppsPage
    private let permissionsPage: PermissionsPage
    private let historyPage: HistoryPage
    private let weekPage: WeekPage
    private let appPage: AppPage
    private let kindPage: KindPage
    /// The pages on the way here, the shown one last.
    private var trail: [Page] = [.main]

    init(_ application: UnsafeMutablePointer<GApplication>) {
        window = cadw_window_new(application)
        let overlay = adw_toast_overlay_new()!
        changes = Changes(model, overlay)
        absence = AbsencePage(model)
        inUse = InUseSection(model, changes)
        appsPage = AppsPage(model)
        permissionsPage = PermissionsPage(model, changes)
        historyPage = HistoryPage(model)
        weekPage = WeekPage(model)
        appPage = AppPage(model, changes)
        kindPage = KindPage(model, changes)
        Style.install()
        build(overlay)
        connect(application)
        followDaemon()
    }

    func present() { gtk_window_present(cadw_window(window)) }

    /// Opens the page of an app.
    func show(_ app: AppID) { go(.app(app)) }

    // MARK: Layout

    private func build(_ overlay: Widget) {
        let title = Texts.text("Permissions")
        gtk_window_set_title(cadw_window(window), title)
        gtk_window_set_icon_name(cadw_window(window), Icons.window)
        gtk_window_set_default_size(cadw_window(window), 760, 720)
        gtk_widget_set_size_request(window, 360, 294)
        cadw_pages_add(pages, appsPage.list.widget, "apps", Texts.text("Apps"), "view-app-grid-symbolic")
        cadw_pages_add(
            pages, permissionsPage.widget, "permissions", Texts.text("Permissions"), "camera-web-symbolic")
        cadw_pages_add(
            pages, historyPage.list.widget, "history", Texts.text("History"), "document-open-recent-symbolic")
        let switcher = cadw_switcher_new(pages, title)!
        cadw_pages_add(pages, weekPage.widget, "week", Texts.text("Week"), "x-office-calendar-symbolic")
        let main = Widgets.box(
            GTK_ORIENTATION_VERTICAL, cadw_header_new(switcher), inUse.widget, pages.expands(),
            cadw_switcher_bar_new(pages, switcher))
        cadw_stack_add(stack, main, "main")
        cadw_stack_add(stack, absence.widget, "absence")
        cadw_stack_add(stack, appPage.widget, "app")
        cadw_stack_add(stack, kindPage.widget, "kind")
        for page in [appPage.widget, kindPage.widget] { cadw_escape(page, "win.back") }
        cadw_toast_overlay_set_child(overlay, stack)
        cadw_window_set_content(window, overlay)
        showPlace()
    }

    private func connect(_ application: UnsafeMutablePointer<GApplication>) {
        model.onChange { [unowned self] part in
            if part == .presence { showPlace() }
        }
        for page in [appsPage.onOpen, historyPage.onOpen, weekPage.onOpen, kindPage.onOpen, inUse.onOpen] {
            page.body = { [unowned self] in go(.app($0)) }
        }
        permissionsPage.onOpen.body = { [unowned self] in go(.kind($0)) }
        appPage.onBack.body = { [unowned self] _ in back() }
        kindPage.onBack.body = { [unowned self] _ in back() }
        appPage.onHistory.body = { [unowned self] app in
            historyPage.filter(app)
            trail = [.main]
            showPlace()
            cadw_pages_show(pages, "history")
        }
        action(application, "back", "<Alt>Left", nil) { [unowned self] in back() }
        action(application, "search", "<Control>f", nil) { [unowned self] in search() }
        action(application, "undo", "<Control>z", nil) { [unowned self] in changes.undo() }
        action(application, "close", "<Control>w", "<Control>q") { [unowned self] in
            gtk_window_close(cadw_window(window))
        }
        for (number, page) in ["apps", "permissions", "history", "week"].enumerated() {
            action(application, page, "<Alt>\(number + 1)", nil) { [unowned self] in
                trail = [.main]
                showPlace()
                cadw_pages_show(pages, page)
            }
        }
    }

    private func action(
        _ application: UnsafeMutablePointer<GApplication>, _ name: String, _ key: String, _ otherKey: String?,
        _ body: @escaping @MainActor () -> Void
    ) {
        cadw_add_action(window, name).on("activate", body)
        cadw_set_key(application, "win.\(name)", key, otherKey)
    }

    // MARK: The way between pages

    private func go(_ place: Page) {
        if trail.last != place { trail.append(place) }
        showPlace()
    }

    private func back() {
        if trail.count > 1 { trail.removeLast() }
        showPlace()
    }

    private func search() {
        switch trail.last {
        case .kind: kindPage.list.focus()
        case .app: break
        default:
            switch cadw_pages_shown(pages).map({ String(cString: $0) }) {
            case "history": historyPage.list.focus()
            case "permissions", "week": break
            default: appsPage.list.focus()
            }
        }
    }

    private func showPlace() {
        switch model.presence {
        case .absent, .failed: return cadw_stack_show(stack, "absence")
        case .unknown, .present: break
        }
        switch trail.last {
        case .app(let app):
            appPage.show(app)
            cadw_stack_show(stack, "app")
        case .kind(let permission):
            kindPage.show(permission)
            cadw_stack_show(stack, "kind")
        case .main, nil: cadw_stack_show(stack, "main")
        }
    }

    // SAFETY: this object lives as long as the program, which ends with its window.
    private func followDaemon() {
        cadw_watch_name(
            BusNames.service,
            { _, _, _, context in
                guard let context else { return }
                let model = Unmanaged<Model>.fromOpaque(context).takeUnretainedValue()
                MainActor.assumeIsolated { model.appeared() }
            },
            { _, _, context in
                guard let context else { return }
                let model = Unmanaged<Model>.fromOpaque(context).takeUnretainedValue()
                MainActor.assumeIsolated { model.vanished() }
            }, Unmanaged.passUnretained(model).toOpaque())
    }
}

/// A way to tell the window that the person wants to go somewhere.
@MainActor
final class Link<Target> {
    var body: @MainActor (Target) -> Void = { _ in }
    func follow(_ target: Target) { body(target) }
}

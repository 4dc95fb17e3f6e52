// The program's life cycle: one instance for each session, which D-Bus or a command line brings to the front.

import CAdwaita
import Glibc
import PermissionClient
import PermissionTexts
import System

@MainActor
enum SettingsProgram {
    /// The name on the bus, of the desktop entry and of the icon.
    static let id = "org.permd.Settings"
    /// Of its URLs: `permd:` is the window, and `permd:flatpak:org.example.App` the page of an app.
    private static let scheme = "permd:"

    private static var application: UnsafeMutablePointer<GApplication>?
    private static var window: MainWindow?

    static func main() {
        Texts.bind()
        g_set_prgname(id)
        g_set_application_name(Texts.text("Permissions"))
        let application = cadw_application_new(id)!
        self.application = application
        cadw_application_add_string_option(
            application, "app", Texts.text("Open the page of an app, such as flatpak:org.example.App"), "APP")
        cadw_application_add_flag(application, "version", Texts.text("Print the version"))
        cadw_connect_pointer(
            application, "handle-local-options",
            { _, options, _ in
                // -1 continues with the command line.
                guard let options, cadw_options_contain(options, "version") != 0 else {
                    return gtk_init_check() != 0 ? -1 : SettingsProgram.noDisplay()
                }
                print("permd-settings \(ProgramOptions.version)")
                return 0
            }, nil, nil)
        cadw_connect_pointer(
            application, "command-line",
            { _, line, _ in
                guard let line else { return 0 }
                // SAFETY: the signal is emitted on GTK's thread, which is that of the main actor.
                nonisolated(unsafe) let command = line
                return MainActor.assumeIsolated { SettingsProgram.run(command) }
            }, nil, nil)
        application.on("activate") { SettingsProgram.open() }
        // The desktop opens a URL over D-Bus (org.freedesktop.Application.Open).
        cadw_connect_open(application) { _, files, count, _, _ in
            for file in UnsafeBufferPointer(start: files, count: Int(count)) {
                guard let url = SettingsProgram.taken(cadw_url_of(file)) else { continue }
                MainActor.assumeIsolated { SettingsProgram.open(at: SettingsProgram.app(of: url) ?? "") }
            }
        }
        // Prompts open the page of their app over D-Bus (org.freedesktop.Application.ActivateAction).
        cadw_connect_pointer(
            UnsafeMutableRawPointer(cadw_add_text_action(application, "app")), "activate",
            { _, text, _ in
                guard let text else { return 0 }
                let app = String(cString: cadw_text_of(text))
                MainActor.assumeIsolated { SettingsProgram.open(at: app) }
                return 0
            }, nil, nil)
        exit(g_application_run(application, CommandLine.argc, CommandLine.unsafeArgv))
    }

    private nonisolated static func noDisplay() -> Int32 {
        writeError("permd-settings: there is no display for the window; in a terminal, use permctl\n")
        return ExitStatus.unavailable
    }

    /// Does what a command line says, which may be that of another process. Returns that process's exit status.
    private static func run(_ line: UnsafeMutableRawPointer) -> Int32 {
        if let app = taken(cadw_command_line_option(line, "app")) {
            guard AppID(app) != nil else {
                let forms = "flatpak:ID, snap:NAME or exe:/PATH, as permctl status shows it"
                return complain(line, "\(SafeText.line(app)) is not an app; it has to be \(forms)")
            }
            open(at: app)
        } else if let url = taken(cadw_command_line_argument(line)) {
            guard let app = app(of: url) else {
                return complain(line, "\(SafeText.line(url)) is not a URL of this window; it has to be \(scheme)APP")
            }
            open(at: app)
        } else {
            open()
        }
        return 0
    }

    private static func complain(_ line: UnsafeMutableRawPointer, _ text: String) -> Int32 {
        cadw_command_line_complain(line, "permd-settings: \(text)\n")
        return ExitStatus.usage
    }

    /// What a URL says of an app, if it has the scheme. A web page may open it, so it says nothing else.
    private static func app(of url: String) -> String? {
        guard url.hasPrefix(scheme) else { return nil }
        // GIO may put slashes behind the scheme (GNOME/glib#1886). No app begins with one.
        return taken(g_uri_unescape_string(String(url.dropFirst(scheme.count).drop { $0 == "/" }), nil)) ?? ""
    }

    private nonisolated static func taken(_ text: UnsafeMutablePointer<CChar>?) -> String? {
        guard let text else { return nil }
        defer { g_free(text) }
        return String(cString: text)
    }

    /// Shows the page of an app; the whole window for what is none.
    private static func open(at app: String) {
        open()
        if let app = AppID(app) { window?.show(app) }
    }

    private static func open() {
        guard let application else { return }
        let window = window ?? MainWindow(application)
        self.window = window
        window.present()
    }
}

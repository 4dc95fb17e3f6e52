// What permctl doctor finds about GNOME Shell, which shows the prompts itself with an extension.

import DesktopServices
import PermissionClient
import System

extension Finding {
    /// None where the window of the agent is the best there is: another desktop, or an older shell.
    static func about(_ shell: GnomeShell?) -> [Finding] {
        guard let shell, shell.isSupported else { return [] }
        let name = GnomeShell.extensionName
        let enable = "gnome-extensions enable \(name)"
        switch shell.state {
        case .active:
            return [Finding(.good, "gnome", "GNOME Shell \(shell.version) shows the prompts itself")]
        case .disabled where shell.allowsExtensions:
            return [Finding(.bad, "gnome-disabled", "the extension \(name) is disabled", advice: "run \(enable)")]
        case .disabled:
            return [
                Finding(
                    .bad, "gnome-no-extensions", "extensions of GNOME Shell are disabled, and with them \(name)",
                    advice: "run gsettings set org.gnome.shell disable-user-extensions false, then \(enable)")
            ]
        case .outOfDate:
            return [
                Finding(
                    .bad, "gnome-outdated", "the extension \(name) does not support GNOME Shell \(shell.version)",
                    advice: "update permd-gnome, then log out and in")
            ]
        case .failed(let error):
            return [
                Finding(
                    .bad, "gnome-failed", "the extension \(name) has failed: \(error)",
                    advice: "log out and in; if it fails again, see the log of gnome-shell")
            ]
        case .absent where isInstalled(name):
            return [
                Finding(
                    .bad, "gnome-not-loaded", "the extension \(name) was installed after GNOME Shell had started",
                    advice: "log out and in, then run \(enable)")
            ]
        case .absent:
            return [
                Finding(
                    .information, "gnome-absent", "prompts are windows, which others can cover on GNOME",
                    advice: "install permd-gnome, log out and in, then run \(enable)")
            ]
        }
    }

    private static func isInstalled(_ name: String) -> Bool {
        ([Folders.data] + Folders.datas).contains {
            Folders.names(in: "\($0)/gnome-shell/extensions").contains(name)
        }
    }
}

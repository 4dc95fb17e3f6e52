// Whether GNOME Shell, if it runs on this bus, shows the prompts itself: the state of its extension
// (org.gnome.Shell.Extensions).

import DBus
package import PermissionClient
import PermissionModel

/// GNOME Shell as it runs, and its extension that shows prompts.
package struct GnomeShell: Sendable, Hashable {
    /// The name of the extension, as `gnome-extensions` knows it.
    package static let extensionName = "permd@permd.org"
    /// The oldest major version that the extension supports. Older shells get the agent's window.
    package static let oldestVersion = 45

    package enum State: Sendable, Hashable {
        case active, disabled, outOfDate
        /// With what the shell says about it.
        case failed(String)
        /// The shell found none when it started.
        case absent
    }

    /// Such as `48.7`.
    package let version: String
    package let state: State
    /// Whether the person lets the shell have extensions at all.
    package let allowsExtensions: Bool

    package var isSupported: Bool {
        version.split(separator: ".").first.flatMap { Int($0) } ?? 0 >= GnomeShell.oldestVersion
    }
}

extension PermissionSettings {
    /// GNOME Shell on this bus; nil if there is none, or if it does not answer.
    package func gnomeShell() async -> GnomeShell? {
        try? await BusLink.shared(bus, identifiesDaemon: true).gnomeShell()
    }

    /// Enables the extension (EnableExtension of org.gnome.Shell.Extensions); the shell keeps that.
    ///
    /// - Returns: Whether the shell knows the extension.
    /// - Throws: An error of the connection or of the shell if there is none, or if it does not answer.
    package func enableGnomeExtension() async throws -> Bool {
        try await BusLink.shared(bus, identifiesDaemon: true).enableExtension()
    }
}

extension BusLink {
    private static let shell = "org.gnome.Shell"
    private static let extensions = "org.gnome.Shell.Extensions"
    /// Milliseconds. The shell answers from memory.
    private static let patience: Int32 = 5000

    fileprivate func gnomeShell() async throws -> GnomeShell {
        let info = try await ask(BusLink.extensions, "GetExtensionInfo", GnomeShell.extensionName).properties ?? [:]
        let version = try await property("ShellVersion").stringValue ?? ""
        let allows = try? await property("UserExtensionsEnabled").boolValue
        return GnomeShell(
            version: SafeText.line(version), state: GnomeShell.State(info), allowsExtensions: allows ?? true)
    }

    fileprivate func enableExtension() async throws -> Bool {
        try await ask(BusLink.extensions, "EnableExtension", GnomeShell.extensionName).boolValue ?? false
    }

    private func property(_ name: String) async throws -> Value {
        guard case .variant(let value) = try await ask(StandardInterfaces.properties, "Get", BusLink.extensions, name)
        else { throw ClientError.unexpected("no value of \(name)") }
        return value
    }

    private func ask(_ interface: String, _ member: String, _ arguments: String...) async throws -> Value {
        let reply = try await open().call(
            .call(
                destination: BusLink.shell, path: "/org/gnome/Shell", interface: interface, member: member,
                arguments.map { .string($0) }, noAutoStart: true), timeoutMilliseconds: BusLink.patience)
        guard let value = reply.body.first else { throw ClientError.unexpected("no answer to \(member)") }
        return value
    }
}

extension GnomeShell.State {
    /// The numbers are those of `ExtensionState` in GNOME Shell.
    fileprivate init(_ info: [String: Value]) {
        guard case .double(let number)? = info["state"] else {
            self = .absent
            return
        }
        switch number {
        // Active, and becoming so.
        case 1, 8: self = .active
        case 3: self = .failed(SafeText.line(info["error"]?.stringValue ?? ""))
        case 4: self = .outOfDate
        case 99: self = .absent
        default: self = .disabled
        }
    }
}

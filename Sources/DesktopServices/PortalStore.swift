// What the portals remember besides the permissions (org.freedesktop.impl.portal.PermissionStore): who may record or control
// the screen, run in the background and the like. permd neither asks about these nor decides them; programs that show its
// decisions show these rows, too, and delete them.

import DBus
package import PermissionClient
import PermissionModel

/// A table of that store. Those of the camera, the microphone and the location follow permd's decisions, and the others
/// have what nobody was asked about.
package enum PortalTable: String, Sendable, CaseIterable {
    case screencast
    case remoteDesktop = "remote-desktop"
    case inputCapture = "input-capture"
    case screenshot, usb, background, wallpaper
}

/// What a portal remembers of an app.
package struct PortalRow: Sendable, Hashable, Comparable {
    /// The app's ID as the portal knows it; empty for all programs of which it knows none.
    package let appID: String
    package let table: PortalTable
    /// The entry in the table: a token with which a screen is recorded again, a USB device, or the name of the table.
    package let entry: String
    package let verdict: Verdict

    package static func < (a: PortalRow, b: PortalRow) -> Bool {
        (a.appID, a.table.rawValue, a.entry) < (b.appID, b.table.rawValue, b.entry)
    }

    /// The app, if it is a sandboxed one: portals know a flatpak by its ID and a snap by `snap.NAME`. They know other
    /// programs by what these or their desktop entries say, which looks like the ID of a flatpak.
    package var app: AppID? {
        let snap = "snap."
        return AppID(appID.hasPrefix(snap) ? "snap:\(appID.dropFirst(snap.count))" : "flatpak:\(appID)")
    }
}

extension PermissionSettings {
    /// Returns what the portals remember, sorted by app; nothing if there is no such store.
    package func portalRows() async throws(ClientError) -> [PortalRow] {
        try await BusLink.shared(bus, identifiesDaemon: true).portalRows()
    }

    /// Deletes what a portal remembers: it asks again. A session that runs goes on.
    package func forget(_ row: PortalRow) async throws(ClientError) {
        try await BusLink.shared(bus, identifiesDaemon: true).forget(row)
    }
}

extension BusLink {
    /// Milliseconds. The store answers from memory, once it has started.
    private static let patience: Int32 = 5000
    /// The entries of a table that are read. A portal makes one for each session that an app may take up again.
    private static let mostEntries = 256
    /// Any other entry, such as `ask`, remembers nothing.
    private static let verdicts: [[String]: Verdict] = [["yes"]: .grant, ["no"]: .deny]
    /// The entry was deleted by somebody else.
    private static let notFound = "org.freedesktop.portal.Error.NotFound"

    fileprivate func portalRows() async throws(ClientError) -> [PortalRow] {
        var rows: [PortalRow] = []
        for table in PortalTable.allCases {
            guard let entries = try await ask("List", table.rawValue)?.first?.strings else { return [] }
            for entry in entries.prefix(BusLink.mostEntries) {
                guard case .dictionary("s", "as", let apps)? = try await ask("Lookup", table.rawValue, entry)?.first
                else {
                    continue
                }
                rows += apps.compactMap { app in
                    guard let id = app.key.stringValue, let verdict = BusLink.verdicts[app.value.strings ?? []] else {
                        return nil
                    }
                    return PortalRow(appID: id, table: table, entry: entry, verdict: verdict)
                }
            }
        }
        return rows.sorted()
    }

    fileprivate func forget(_ row: PortalRow) async throws(ClientError) {
        _ = try await ask("DeletePermission", row.table.rawValue, row.entry, row.appID)
    }

    /// Nil if there is no such store, or no such entry.
    private func ask(_ member: String, _ arguments: String...) async throws(ClientError) -> [Value]? {
        let call = Message.call(
            destination: BusNames.portalStore, path: BusNames.portalStorePath, interface: BusNames.portalStore,
            member: member, arguments.map { .string($0) })
        let connection = try await open()
        do throws(BusError) {
            return try await connection.call(call, timeoutMilliseconds: BusLink.patience).body
        } catch {
            switch error.name {
            case BusError.Name.serviceUnknown, BusLink.notFound: return nil
            default:
                throw ClientError(
                    kind: .unexpected, message: "the portals' store does not answer: \(error.message)",
                    isRetryable: true)
            }
        }
    }
}

// GeoClue: starting a client is asked about, and reading a location; making a client and setting it up are not.

import PermissionModel

extension GatedService {
    private static let client = "org.freedesktop.GeoClue2.Client"

    /// The interfaces are those of GeoClue 2.6 to 2.8.
    package static let geoClue = GatedService(
        name: "org.freedesktop.GeoClue2", gate: BusNames.locationGateService, permission: .location,
        // It asks for each app itself.
        sessionPrograms: ["xdg-desktop-portal": "xdg-desktop-portal"],
        isTelling: { path in path.contains("/Location/") },
        rows: [
            // A client that is not started is told nothing. Agents are told nothing either, and whom they let through
            // asks here.
            Row(.free, "org.freedesktop.GeoClue2.Manager", ["GetClient", "CreateClient", "DeleteClient", "AddAgent"]),
            Row(.ask, client, ["Start"]), Row(.free, client, ["Stop"]),
            // How exact, how often, and for which app: read when it starts.
            Row(.free, "org.freedesktop.DBus.Properties", ["Set"]),
        ],
        tellingSignals: ["\(client).LocationUpdated"],
        useRows: [UseRow(interface: client, begin: ["Start"], end: "Stop")], device: { _ in "geoclue" })
}

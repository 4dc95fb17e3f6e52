// BlueZ: finding devices, reaching them and being found are asked about; the state of the adapter is not.

import PermissionModel

extension GatedService {
    /// The interfaces are those of BlueZ 5.66 to 5.87 (org.bluez.Adapter(5) and its neighbours).
    package static let bluez = GatedService(
        name: "org.bluez", gate: BusNames.bluetoothGateService, permission: .bluetooth,
        sessionPrograms: [
            // Panels and their services: they show and change what the person clicks.
            "gnome-shell": "org.gnome.Shell", "gsd-rfkill": "org.gnome.SettingsDaemon.Rfkill",
            "plasmashell": "plasma-plasmashell", "kded5": "plasma-kded", "kded6": "plasma-kded6",
            // Sound of headsets.
            "wireplumber": "wireplumber", "pipewire": "pipewire", "pulseaudio": "pulseaudio",
            // Files that devices send, and keys of headsets. Both are BlueZ's.
            "obexd": "obex", "mpris-proxy": "mpris-proxy",
        ],
        // Devices, and all below them: services, characteristics, players, transports.
        isTelling: { path in path.split(separator: "/").contains { $0.hasPrefix("dev_") } },
        rows: [
            // Objects of devices are left out of the list.
            Row(.view, "org.freedesktop.DBus.ObjectManager", ["GetManagedObjects"]),
            // What the adapter could filter by, the same on every machine.
            Row(.free, "org.bluez.Adapter1", ["GetDiscoveryFilters"]),
            // They end what the caller itself has begun; BlueZ refuses it to others.
            Row(.free, "org.bluez.Adapter1", ["StopDiscovery"]),
            Row(.free, "org.bluez.AgentManager1", ["UnregisterAgent"]),
            Row(.free, "org.bluez.ProfileManager1", ["UnregisterProfile"]),
            Row(.free, "org.bluez.GattManager1", ["UnregisterApplication"]),
            Row(.free, "org.bluez.LEAdvertisingManager1", ["UnregisterAdvertisement"]),
            Row(.free, "org.bluez.AdvertisementMonitorManager1", ["UnregisterMonitor"]),
            Row(.free, "org.bluez.BatteryProviderManager1", ["UnregisterBatteryProvider"]),
            Row(.free, "org.bluez.Media1", ["UnregisterEndpoint", "UnregisterPlayer", "UnregisterApplication"]),
            Row(.free, "org.bluez.NetworkServer1", ["Unregister"]),
            // Scanning, pairing, removing, and what a program registers to be reached: agents, profiles, services,
            // advertisements, monitors, endpoints of media. Setting a property too: it makes this machine visible.
            Row(.ask, "org.bluez.Adapter1"), Row(.ask, "org.freedesktop.DBus.Properties", ["Set"]),
        ],
        tellingSignals: [],
        useRows: [
            UseRow(interface: "org.bluez.Adapter1", begin: ["StartDiscovery"], end: "StopDiscovery"),
            UseRow(
                interface: "org.bluez.LEAdvertisingManager1", begin: ["RegisterAdvertisement"],
                end: "UnregisterAdvertisement"),
            UseRow(
                interface: "org.bluez.Device1", begin: ["Connect", "ConnectProfile", "Pair"], end: "Disconnect",
                lastsWhile: "Connected"),
        ],
        // The adapter: /org/bluez/hci0/dev_….
        device: { use in String(use.path.split(separator: "/").dropFirst(2).first ?? "") })
}

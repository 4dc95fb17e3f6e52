// Which calls are asked about, which are not, and who hears which signals, as tables.

import PermissionModel
import Testing

@testable import GateRules

private let properties = "org.freedesktop.DBus.Properties"
private let objects = "org.freedesktop.DBus.ObjectManager"
private let adapter = "/org/bluez/hci0"
private let device = "/org/bluez/hci0/dev_00_11_22_33_44_55"
private let client = "/org/freedesktop/GeoClue2/Client/1"
private let location = "/org/freedesktop/GeoClue2/Client/1/Location/3"

private typealias Row = (path: String, interface: String?, member: String, first: String?, rule: CallRule)

struct GatedServiceTests {
    @Test(
        arguments: [
            // The adapter's own state, and what ends what the caller has begun.
            ("/", "org.freedesktop.DBus.Peer", "Ping", nil, .free),
            (device, "org.freedesktop.DBus.Peer", "Ping", nil, .free),
            (adapter, properties, "Get", "org.bluez.Adapter1", .free),
            (adapter, properties, "GetAll", "org.bluez.Adapter1", .free),
            (adapter, "org.bluez.Adapter1", "StopDiscovery", nil, .free),
            ("/org/bluez", "org.bluez.AgentManager1", "UnregisterAgent", nil, .free),
            // What lists devices.
            ("/", objects, "GetManagedObjects", nil, .view),
            (adapter, "org.freedesktop.DBus.Introspectable", "Introspect", nil, .view),
            // What finds and reaches them, and what is found.
            (adapter, "org.bluez.Adapter1", "StartDiscovery", nil, .ask),
            (adapter, "org.bluez.Adapter1", "ConnectDevice", nil, .ask),
            (adapter, properties, "Set", "org.bluez.Adapter1", .ask),
            (adapter, "org.bluez.GattManager1", "RegisterApplication", nil, .ask),
            (adapter, "org.bluez.LEAdvertisingManager1", "RegisterAdvertisement", nil, .ask),
            ("/org/bluez", "org.bluez.AgentManager1", "RegisterAgent", nil, .ask),
            ("/org/bluez", "org.bluez.ProfileManager1", "RegisterProfile", nil, .ask),
            (device, properties, "GetAll", "org.bluez.Device1", .ask),
            (device, "org.freedesktop.DBus.Introspectable", "Introspect", nil, .ask),
            (device, "org.bluez.Device1", "Connect", nil, .ask),
            (device + "/service000a/char000b", "org.bluez.GattCharacteristic1", "ReadValue", nil, .ask),
            // What nobody has looked at, and what has no interface.
            (adapter, "org.bluez.New1", "Look", nil, .ask), (adapter, nil, "StartDiscovery", nil, .ask),
            (adapter, nil, "StopDiscovery", nil, .ask), ("/", objects, "New", nil, .ask),
        ] as [Row])
    func callsOfBlueZ(path: String, interface: String?, member: String, first: String?, rule: CallRule) {
        let call = GatedCall(path: path, interface: interface, member: member, firstText: first)
        #expect(GatedService.bluez.rule(for: call) == rule)
    }

    @Test(
        arguments: [
            ("/org/freedesktop/GeoClue2/Manager", "org.freedesktop.GeoClue2.Manager", "GetClient", nil, .free),
            ("/org/freedesktop/GeoClue2/Manager", "org.freedesktop.GeoClue2.Manager", "AddAgent", nil, .free),
            ("/org/freedesktop/GeoClue2/Manager", "org.freedesktop.GeoClue2.Manager", "New", nil, .ask),
            (client, properties, "Set", "org.freedesktop.GeoClue2.Client", .free),
            (client, properties, "Get", "org.freedesktop.GeoClue2.Client", .free),
            (client, "org.freedesktop.GeoClue2.Client", "Start", nil, .ask),
            (client, "org.freedesktop.GeoClue2.Client", "Stop", nil, .free),
            (client, nil, "Start", nil, .ask),
            (location, properties, "GetAll", "org.freedesktop.GeoClue2.Location", .ask),
        ] as [Row])
    func callsOfGeoClue(path: String, interface: String?, member: String, first: String?, rule: CallRule) {
        let call = GatedCall(path: path, interface: interface, member: member, firstText: first)
        #expect(GatedService.geoClue.rule(for: call) == rule)
    }

    /// By whatever call, a device is connected once.
    @Test(arguments: ["Connect", "ConnectProfile", "Pair"])
    func usesOfADevice(begin: String) {
        let call = { GatedCall(path: device, interface: "org.bluez.Device1", member: $0, firstText: nil) }
        let use = GatedService.bluez.use(begunBy: call(begin))
        #expect(use == GateUse(path: device, member: "Connect"))
        #expect(GatedService.bluez.use(endedBy: call("Disconnect")) == use)
        #expect(GatedService.bluez.lasting(at: device)?.use == use)
    }

    @Test(arguments: [
        ("/", objects, "InterfacesAdded", device, true), ("/", objects, "InterfacesRemoved", device, true),
        ("/", objects, "InterfacesAdded", adapter, false),
        (device, properties, "PropertiesChanged", "org.bluez.Device1", true),
        (device + "/player0", properties, "PropertiesChanged", "org.bluez.MediaPlayer1", true),
        (device, "org.bluez.Device1", "Disconnected", "org.bluez.Reason.Timeout", true),
        (adapter, properties, "PropertiesChanged", "org.bluez.Adapter1", false),
    ])
    func signalsOfBlueZ(path: String, interface: String, member: String, first: String?, tells: Bool) {
        let told = GatedService.bluez.tells(path: path, interface: interface, member: member, firstText: first)
        #expect(told == tells)
    }

    @Test(arguments: [
        (client, "org.freedesktop.GeoClue2.Client", "LocationUpdated", "/", true),
        ("/org/freedesktop/GeoClue2/Manager", properties, "PropertiesChanged", "org.x.Manager", false),
    ])
    func signalsOfGeoClue(path: String, interface: String, member: String, first: String?, tells: Bool) {
        let told = GatedService.geoClue.tells(path: path, interface: interface, member: member, firstText: first)
        #expect(told == tells)
    }

    @Test(arguments: [
        ("", ""), ("<node></node>", "<node></node>"),
        ("<node><node name=\"hci0\"/><node name=\"dev_1\"/></node>", "<node><node name=\"hci0\"/></node>"),
        ("<node><node name=\"dev_1\"/>\n<node name=\"dev_2\"/>\n</node>", "<node>\n\n</node>"),
        ("<node><node name=\"dev_1\"><interface/></node></node>", "<node></node>\n"),
        ("<node><node name=\"dev_1\">x", "<node></node>\n"), ("<node><node name=\"dev_1", "<node></node>\n"),
    ])
    func nodesAreLeftOut(text: String, rest: String) {
        let kept = withoutNodes(text) { $0.hasPrefix("dev_") }
        #expect(kept == rest && !kept.contains("dev_"))
    }
}

// The measured services, and the calls to measure them and to fill their stores.

/// The services on the bus.
enum Service {
    static let permd = "org.permd"
    static let agent = "org.permd.Agent"
    static let echo = "org.permd.bench.Echo"
    /// Another echo, behind permd-gate.
    static let gated = "org.bluez"
    static let store = "org.freedesktop.impl.portal.PermissionStore"
    static let gtk = "org.freedesktop.impl.portal.desktop.gtk"
}

enum Calls {
    /// The echo service returns the same bytes as `GetStatus`, over the same bus.
    static func echo() -> BenchMessage {
        .call(Service.echo, "/", "org.permd.bench.Echo", "GetStatus", [.texts(["location"])])
    }

    /// A property of an adapter, which asks nobody.
    static func property(_ service: String) -> BenchMessage {
        .call(
            service, "/org/bluez/hci0", "org.freedesktop.DBus.Properties", "Get",
            [.text("org.bluez.Adapter1"), .text("Powered")])
    }

    static func notify(_ service: String, _ count: Int) -> BenchMessage {
        .call(service, "/org/bluez", "org.permd.bench.Echo", "Notify", [.number(UInt32(count))])
    }

    static func status() -> BenchMessage {
        .call(Service.permd, "/org/permd", "org.permd.Access1", "GetStatus", [.texts(["location"])])
    }

    static func request() -> BenchMessage {
        .call(
            Service.permd, "/org/permd", "org.permd.Access1", "RequestAccess", [.texts(["location"]), .noOptions])
    }

    private static func policy(_ member: String, _ arguments: [BenchValue]) -> BenchMessage {
        .call(Service.permd, "/org/permd", "org.permd.Policy1", member, arguments)
    }

    static func decide(_ app: String, _ isGranted: Bool) -> BenchMessage {
        policy("SetDecision", [.text(app), .text("location"), .text(isGranted ? "grant" : "deny"), .noOptions])
    }

    static func reset(_ app: String) -> BenchMessage { policy("Reset", [.text(app), .text("location")]) }

    static func app(_ number: Int) -> String { "exe:/opt/bench/app-\(number)" }

    private static func store(_ member: String, _ arguments: [BenchValue]) -> BenchMessage {
        .call(
            Service.store, "/org/freedesktop/impl/portal/PermissionStore",
            "org.freedesktop.impl.portal.PermissionStore", member, arguments)
    }

    /// Each entry has one app, so that the reply is as small as permd's.
    static func lookup(_ number: Int) -> BenchMessage { store("Lookup", [.text("bench"), .text("entry-\(number)")]) }

    static func permit(_ number: Int, _ isGranted: Bool) -> BenchMessage {
        store(
            "SetPermission",
            [
                .text("bench"), .bool(true), .text("entry-\(number)"), .text("org.example.App\(number)"),
                .texts([isGranted ? "yes" : "no"]),
            ])
    }

    static func dialog(_ handle: String) -> BenchMessage {
        .call(
            Service.gtk, "/org/freedesktop/portal/desktop", "org.freedesktop.impl.portal.Access", "AccessDialog",
            [
                .path(handle), .text("org.example.App"), .text(""), .text("Use the location?"),
                .text("An app would like to know where you are"), .text("So that the map is right"), .noOptions,
            ])
    }

    static func closeDialog(_ handle: String) -> BenchMessage {
        .call(Service.gtk, handle, "org.freedesktop.impl.portal.Request", "Close")
    }

    static func bus(_ member: String, _ arguments: [BenchValue]) -> BenchMessage {
        .call("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", member, arguments)
    }
}

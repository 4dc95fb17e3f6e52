// The points of the system: programs that stand between the programs of all users and a device or a service, and ask the
// permd of each user.

import DBus
import Logging
import PermissionCore
import PermissionModel
import System

/// What is known of a point, whether it is installed or not.
struct SystemPoint: Sendable {
    /// Its name on the system bus.
    let service: String
    /// How logs and permctl call it.
    let program: String
    /// What the programs do that it asks about: "programs that …".
    let use: String
    /// It is believed about these only.
    let permissions: Set<Permission>
    /// How lists of uses call it.
    var source = "gate"

    static let permdGuard = SystemPoint(
        service: BusNames.guardService, program: "permd-guard", use: "open devices",
        permissions: Set(Permission.allCases), source: "guard")
    static let all = [
        permdGuard,
        SystemPoint(
            service: BusNames.bluetoothGateService, program: "permd-gate of Bluetooth", use: "use Bluetooth",
            permissions: [.bluetooth]),
        SystemPoint(
            service: BusNames.locationGateService, program: "permd-gate of GeoClue", use: "ask for the location",
            permissions: [.location]),
    ]
}

extension RequestSink {
    /// What a service of the system asks about an app, for the queue. The session bus has no object of it.
    ///
    /// - Parameter device: The name of the device at hand, or empty; permd looks for none.
    func systemRequest(
        _ permission: Permission, by caller: Caller, device: String = "", at time: EpochSeconds,
        _ requester: any Requester
    ) -> Request {
        let id = newID()
        var request = Request(
            id: id, path: "\(BusNames.guardRequestRoot)/\(id.number)", caller: caller, items: [.permission(permission)],
            arrived: time, requester: requester)
        request.device = device
        return request
    }
}

/// The links to all points, and GeoClue's agent, as one.
@LoopActor
final class SystemPoints {
    let links: [PointLink]
    private let locationAgent: LocationAgent?
    /// Called when a question needs no answer any more.
    var onSettled: (@LoopActor () -> Void)? { didSet { for link in links { link.onSettled = onSettled } } }

    init(_ links: [PointLink], locationAgent: LocationAgent? = nil) {
        (self.links, self.locationAgent) = (links, locationAgent)
    }

    /// permd serves a session bus, with this queue and this list of uses.
    func serve(_ requests: any RequestSink, _ usage: DeviceUsage, on session: Connection) {
        for link in links {
            link.uses.usage = usage
            link.serve(requests)
        }
        locationAgent?.serve(requests, on: session)
    }

    /// The queue takes no more requests.
    func pause() {
        for link in links { link.pause() }
        locationAgent?.pause()
    }

    /// Tells the points that what was decided about the permission may no longer hold; nil means any.
    func changed(_ permission: Permission?) {
        for link in links where permission.map(link.connection.point.permissions.contains) ?? true {
            link.connection.changed(permission)
        }
        locationAgent?.changed()
    }

    /// Whether a thread, or a call, of the process waits for an answer.
    func isAsking(about process: ProcessKey, _ permission: Permission) -> Bool {
        links.contains { $0.isAsking(about: process, permission) }
    }

    /// Whether an open camera gets no further image once that is denied.
    var cutsCameras: Bool { links.contains { $0.connection.cutsCameras } }
    /// Why a point does not ask this permd, and what to do.
    var problems: [(text: String, advice: String)] { links.compactMap(\.connection.problem) }
}

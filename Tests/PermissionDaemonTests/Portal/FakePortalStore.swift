// The portals' store (org.freedesktop.impl.portal.PermissionStore), as far as permd uses it.

import DBus
import PermissionModel
import PermissionTestKit
import TestSupport

@LoopActor
final class FakePortalStore {
    private static let notFound = "org.freedesktop.portal.Error.NotFound"

    let service: FakeService
    /// Permissions by app, by `table id`.
    private(set) var entries: [String: [String: [String]]] = [:]
    /// `TABLE ID APP` for each entry that was deleted by a call.
    let deletions = EventLog<String>()
    /// `TABLE ID` for each lookup.
    let lookups = EventLog<String>()

    init(on bus: PrivateBus) throws {
        service = try FakeService(on: bus)
        service.add(
            BusNames.portalStore, at: BusNames.portalStorePath,
            [
                Method(
                    name: "Lookup", inputs: ["table": "s", "id": "s"],
                    outputs: ["permissions": "a{sas}", "data": "v"]
                ) { [unowned self] in lookup($0) },
                Method(
                    name: "DeletePermission", inputs: ["table": "s", "id": "s", "app": "s"], outputs: [:]
                ) { [unowned self] in delete($0) },
            ])
        try service.own(BusNames.portalStore)
    }

    /// Writes as another program would; nil deletes.
    func write(_ place: String, _ app: String, _ words: [String]?) {
        entries[place, default: [:]][app] = words
        let parts = place.split(separator: " ").map(String.init)
        service.connection.send(
            .signal(
                path: BusNames.portalStorePath, interface: BusNames.portalStore, member: "Changed",
                [
                    .string(parts[0]), .string(parts[1]), .bool(false), .variant(.byte(0)), permissions(place),
                ]))
    }

    private func permissions(_ place: String) -> Value {
        .dictionary(
            key: "s", value: "as",
            entries[place, default: [:]].sorted { $0.key < $1.key }.map {
                DictionaryEntry(.string($0.key), .strings($0.value))
            })
    }

    private func lookup(_ call: MethodCall) {
        let words = call.arguments.compactMap(\.stringValue)
        let place = "\(words[0]) \(words[1])"
        lookups.add(place)
        guard entries[place] != nil else {
            return call.fail(name: FakePortalStore.notFound, body: [.string("no entry for \(place)")])
        }
        call.reply(permissions(place), .variant(.byte(0)))
    }

    private func delete(_ call: MethodCall) {
        let words = call.arguments.compactMap(\.stringValue)
        let place = "\(words[0]) \(words[1])"
        guard entries[place]?[words[2]] != nil else {
            return call.fail(name: FakePortalStore.notFound, body: [.string("no entry for \(words[2])")])
        }
        call.reply()
        write(place, words[2], nil)
        deletions.add("\(place) \(words[2])")
    }
}

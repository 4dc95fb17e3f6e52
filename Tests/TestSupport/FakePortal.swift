// Replaces xdg-desktop-portal: owns its name and makes the calls that a test wants.

package import DBus
import PermissionModel
package import PermissionTestKit

@LoopActor
package final class FakePortal {
    package let connection: Connection

    package init(on bus: PrivateBus) throws {
        connection = try bus.connect()
        guard try connection.requestName(BusNames.portal) else {
            throw TestKitError("another portal already owns the name on this bus")
        }
    }

    /// Returns the handle that the portal gives to a request of the connection `name`.
    package static func handle(_ name: String, _ token: String = "t") -> String {
        "\(BusNames.portalRequestRoot)/\(name.dropFirst().map { $0 == "." ? "_" : String($0) }.joined())/\(token)"
    }

    /// `AccessDialog` of org.freedesktop.impl.portal.Access.
    package static func dialog(
        _ handle: String, app: String = "", icon: String?, title: String = "A title", subtitle: String = "A subtitle",
        body: String = "A body", options: [String: Value] = [:]
    ) -> Message {
        var options = options
        options["icon"] = icon.map { .string($0) }
        return .call(
            destination: BusNames.portalBackend, path: BusNames.portalRoot, interface: BusNames.portalAccess,
            member: "AccessDialog",
            [
                .objectPath(handle), .string(app), .string(""), .string(title), .string(subtitle), .string(body),
                .properties(options),
            ])
    }

    /// `Close` of org.freedesktop.impl.portal.Request.
    package static func close(_ handle: String) -> Message {
        .call(
            destination: BusNames.portalBackend, path: handle, interface: BusNames.portalRequest, member: "Close")
    }

    /// The value of the option `choices`. A choice without options is a checkbox.
    package static func choices(
        _ choices: [(id: String, label: String, options: [(String, String)], initial: String)]
    ) -> Value {
        .array(
            of: "(ssa(ss)s)",
            choices.map { choice in
                .structure([
                    .string(choice.id), .string(choice.label),
                    .array(
                        of: "(ss)", choice.options.map { .structure([.string($0.0), .string($0.1)]) }),
                    .string(choice.initial),
                ])
            })
    }

    /// Makes the call and returns the response followed by the selections, as `0 id=option …`, or the name of the
    /// error.
    package func ask(_ dialog: Message) async -> String {
        do throws(BusError) {
            let body = try await connection.call(dialog, timeoutMilliseconds: nil).body
            let choices = body.last?.properties?["choices"]?.elements ?? []
            let words = choices.map { ($0.elements ?? []).compactMap(\.stringValue).joined(separator: "=") }
            return ([String(body.first?.uint32Value ?? 99)] + words).joined(separator: " ")
        } catch {
            return String(error.name.split(separator: ".").last ?? "")
        }
    }

    package func end() { connection.close() }
}

// Whether permd-guard runs, which stands between programs and device nodes (org.permd.Guard1, on the system bus).

import DBus
import PermissionModel

package enum DeviceGuard: Sendable, Hashable {
    /// Whether there is a system bus at all.
    case absent(hasBus: Bool)
    /// It has its name, but does not answer.
    case silent
    /// `problems`: what keeps it from doing its work, each with what to do.
    case running(version: String, problems: [String])

    /// Milliseconds. The guard answers from memory.
    private static let patience: Int32 = 5000

    @LoopActor
    package static func find() async -> DeviceGuard {
        let opened = await withCheckedContinuation { continuation in
            Connection.open(.system) { continuation.resume(returning: $0) }
        }
        guard let connection = try? opened.get() else { return .absent(hasBus: false) }
        defer { connection.close() }
        let item = Message.call(
            destination: BusNames.guardService, path: BusNames.guardObject, interface: StandardInterfaces.properties,
            member: "GetAll", [.string(BusNames.guardInterface)], noAutoStart: true)
        do throws(BusError) {
            let reply = try await connection.call(item, timeoutMilliseconds: patience)
            let properties = reply.body.first?.properties ?? [:]
            return .running(
                version: SafeText.line(properties["Version"]?.stringValue ?? ""),
                problems: (properties["Problems"]?.strings ?? []).map { SafeText.line($0) })
        } catch {
            let isAbsent = [BusError.Name.serviceUnknown, BusError.Name.nameHasNoOwner].contains(error.name)
            return isAbsent ? .absent(hasBus: true) : .silent
        }
    }
}

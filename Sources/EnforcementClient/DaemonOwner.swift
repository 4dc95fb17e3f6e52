// Finds the owner of permd's name, and identifies it as permd identifies its callers: any program on the bus can take a name
// that is free. Without tasks, because the first one would start a thread pool that wakes up every second.

import DBus
import Glibc
import PermissionModel
import ProcessIdentity

@LoopActor
enum DaemonOwner {
    /// Passes the unique name of the owner; nil if there is none, or if it is sandboxed or cannot be identified. The bus
    /// starts permd if it can. Only the bus and the kernel are asked, never the owner itself.
    static func find(on connection: Connection, _ completion: @escaping @LoopActor (String?) -> Void) {
        connection.askBus("StartServiceByName", .string(BusNames.service), .uint32(0)) { _ in
            connection.askBus("GetNameOwner", .string(BusNames.service)) { reply in
                guard let owner = reply?.stringValue else { return completion(nil) }
                connection.askBus("GetConnectionCredentials", .string(owner)) { credentials in
                    identify(owner, credentials?.properties ?? [:], connection, completion)
                }
            }
        }
    }

    private static func identify(
        _ owner: String, _ credentials: [String: Value], _ connection: Connection,
        _ completion: @escaping @LoopActor (String?) -> Void
    ) {
        guard let number = credentials["ProcessID"]?.uint32Value, let pid = Int32(exactly: number), pid > 0 else {
            return completion(nil)
        }
        let label = (credentials["LinuxSecurityLabel"]?.elements ?? []).map { $0.byteValue ?? 0 }
        let opened = credentials["ProcessFD"]?.unixFDValue ?? UnixFD(owning: Pidfd.open(pid))
        guard opened.raw >= 0 else { return completion(nil) }
        // The bus still knows the process by this ID after the pidfd was opened.
        connection.askBus("GetConnectionUnixProcessID", .string(owner)) { again in
            let isTrusted = again?.uint32Value == number && isUnsandboxed(pid, opened.raw, label)
            completion(isTrusted ? owner : nil)
        }
    }

    private static func isUnsandboxed(_ pid: Int32, _ pidfd: Int32, _ label: [UInt8]) -> Bool {
        guard let process = try? AppIdentity().process(pid, under: pidfd, label: label) else { return false }
        return !process.app.isSandboxed && !process.isProxy
    }
}

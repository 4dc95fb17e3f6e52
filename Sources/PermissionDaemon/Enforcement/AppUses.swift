// The uses of apps whose process their enforcement point does not know. What holds once for such an app ends with the
// last of them.

import DBus
import PermissionModel

@LoopActor
final class AppUses {
    private struct Key: Hashable {
        let connection: String
        let app: AppID
    }

    /// Called with the app and the point's process, which holds what was granted once.
    var onLastEnded: (@LoopActor (AppID, ProcessKey) -> Void)?

    /// The numbers of the reports that have not ended, as often as they were reported.
    private var open: [Key: [UInt32]] = [:]
    private var processes: [String: ProcessKey] = [:]

    func began(_ number: UInt32, of app: AppID, by point: Caller) {
        open[Key(connection: point.connection, app: app), default: []].append(number)
        processes[point.connection] = point.process
    }

    func ended(_ number: UInt32, by connection: String) {
        let key = open.first { $0.key.connection == connection && $0.value.contains(number) }?.key
        guard let key, let index = open[key]?.firstIndex(of: number) else { return }
        open[key]?.remove(at: index)
        if open[key]?.isEmpty == true { end(key) }
    }

    func left(_ connection: String) {
        for key in open.keys where key.connection == connection { end(key) }
        processes[connection] = nil
    }

    private func end(_ key: Key) {
        open[key] = nil
        if let process = processes[key.connection] { onLastEnded?(key.app, process) }
    }
}

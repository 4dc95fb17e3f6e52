// Who an object belongs to whose maker PipeWire does not name: a node that outlives its maker, or what a module of a sound
// server does. It was made by one of those who were connected at that moment, and gets no more than the least of them may
// have.

import PermissionModel

package enum MakerRule {
    /// - Parameter makers: Who was connected when it was made; nil where that is unknown.
    package static func owner(_ makers: some Sequence<Owner?>) -> Owner {
        var possible: Set<Owner> = []
        for maker in makers {
            guard let maker, maker != .unknown else { return .unknown }
            possible.insert(maker)
        }
        if possible.isSubset(of: [.session]) { return .session }
        let apps = Set(possible.compactMap(\.sandboxedApp))
        switch apps.count {
        case 0: return .unsandboxed
        case 1: return .app(apps.first!)
        default: return .unknown
        }
    }

    /// The first number, by `object.serial`, of an object that another program than PipeWire may have made. PipeWire makes
    /// what its configuration says, in one go, before it has clients; and of what is certainly its own, nothing later.
    ///
    /// - Parameters:
    ///   - serials: The numbers of all objects but clients. One that is missing may have been a client's.
    ///   - own: Those of nodes that have no client and outlive none, which only PipeWire can make.
    package static func endOfConfiguration(_ serials: Set<UInt64>, own: some Sequence<UInt64>) -> UInt64 {
        guard var end = own.max() else { return 0 }
        while serials.contains(end) { end += 1 }
        return end
    }
}

extension Owner {
    fileprivate var sandboxedApp: AppID? {
        switch self {
        case .process(_, let app), .app(let app): app.isSandboxed ? app : nil
        case .session, .unsandboxed, .unknown: nil
        }
    }
}

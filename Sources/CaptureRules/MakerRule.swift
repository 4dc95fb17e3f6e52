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
}

/// What PipeWire makes by its configuration: it numbers all objects, and makes these before it has clients.
package struct ConfiguredObjects {
    private var serials: Set<UInt64> = []
    private var firstClient = UInt64.max

    package init() {}

    /// - Parameter serial: The number of an object that is there, its property `object.serial`.
    package mutating func add(_ serial: String?, isClient: Bool) {
        guard let serial = serial.flatMap({ UInt64($0) }) else { return }
        serials.insert(serial)
        if isClient { firstClient = min(firstClient, serial) }
    }

    /// The first number of a client, or of an object that is gone and may have been one. All objects of the configuration
    /// that no other program can have made have lower ones.
    package var end: UInt64 {
        (0...firstClient).first { $0 == firstClient || !serials.contains($0) } ?? 0
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

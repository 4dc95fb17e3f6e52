// The uses of devices: what is listed about one, and what it is made of.

package import PermissionModel

/// A device that is used.
package struct UsedDevice: Sendable, Hashable {
    package var permission: Permission
    /// Its ID in the list of devices; empty if only its name is known.
    package var id: String
    /// Safe to show.
    package var name: String

    package init(permission: Permission, id: String, name: String) {
        self.permission = permission
        self.id = id
        self.name = name
    }
}

/// An app that uses a device now, with one process or several.
package struct Use: Sendable, Hashable {
    package let number: UInt32
    /// Nil if the process may not be inspected.
    package let app: AppID?
    /// The process with which the use began; 0 if it is not known.
    package let pid: Int32
    package let device: UsedDevice
    package let since: EpochSeconds
    /// The app's status when the use began.
    package let status: Status
    /// ``DeviceOpener/Source`` or the name of the enforcement point that reported it.
    package let source: String
    /// Whether a sound server has the node open, which records for other programs.
    package let isServer: Bool
}

package enum UseChange: Sendable, Hashable {
    case started(Use)
    case ended(Use, at: EpochSeconds)

    package var use: Use {
        switch self {
        case .started(let use), .ended(let use, _): use
        }
    }
}

/// A process that has a device's node open.
package struct DeviceOpener: Sendable, Hashable {
    package enum Source: String, Sendable, CaseIterable {
        /// The node is open.
        case device
        /// ALSA records from it.
        case capture
    }

    package var app: AppID?
    package var pid: Int32
    /// Whether it is a sound server, which records for other programs.
    package var isServer: Bool
    package var source: Source
    package var since: EpochSeconds
    package var status: Status

    package init(
        app: AppID?, pid: Int32, isServer: Bool = false, source: Source = .device, since: EpochSeconds, status: Status
    ) {
        self.app = app
        self.pid = pid
        self.isServer = isServer
        self.source = source
        self.since = since
        self.status = status
    }
}

/// A use that an enforcement point reports.
package struct UseReport: Sendable, Hashable {
    package var app: AppID
    /// 0 if it is not known.
    package var pid: Int32
    package var device: UsedDevice
    /// The name that the enforcement point gives itself.
    package var source: String
    package var status: Status
    /// Whether the app got at the device past the enforcement point, which cut it off. This is no use, but a row of the
    /// history.
    package var isBypass: Bool

    package init(
        app: AppID, pid: Int32, device: UsedDevice, source: String, status: Status, isBypass: Bool = false
    ) {
        self.app = app
        self.pid = pid
        self.device = device
        self.source = source
        self.status = status
        self.isBypass = isBypass
    }
}

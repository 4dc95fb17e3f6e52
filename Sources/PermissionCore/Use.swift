// The uses of devices: what is listed about one, and what it is made of.

public import PermissionModel

/// A device that is used.
public struct UsedDevice: Sendable, Hashable {
    public var permission: Permission
    /// Its ID in the list of devices; empty if only its name is known.
    public var id: String
    /// Safe to show.
    public var name: String

    public init(permission: Permission, id: String, name: String) {
        self.permission = permission
        self.id = id
        self.name = name
    }
}

/// An app that uses a device now, with one process or several.
public struct Use: Sendable, Hashable {
    public let number: UInt32
    /// Nil if the process may not be inspected.
    public let app: AppID?
    /// The process with which the use began; 0 if it is not known.
    public let pid: Int32
    public let device: UsedDevice
    public let since: EpochSeconds
    /// The app's status when the use began.
    public let status: Status
    /// ``DeviceOpener/Source`` or the name of the enforcement point that reported it.
    public let source: String
    /// Whether a sound server has the node open, which records for other programs.
    public let isServer: Bool
}

public enum UseChange: Sendable, Hashable {
    case started(Use)
    case ended(Use, at: EpochSeconds)
}

/// A process that has a device's node open.
public struct DeviceOpener: Sendable, Hashable {
    public enum Source: String, Sendable, CaseIterable {
        /// The node is open.
        case device
        /// ALSA records from it.
        case capture
    }

    public var app: AppID?
    public var pid: Int32
    /// Whether it is a sound server, which records for other programs.
    public var isServer: Bool
    public var source: Source
    public var since: EpochSeconds
    public var status: Status

    public init(
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
public struct UseReport: Sendable, Hashable {
    public var app: AppID
    /// 0 if it is not known.
    public var pid: Int32
    public var device: UsedDevice
    /// The name that the enforcement point gives itself.
    public var source: String
    public var status: Status
    /// Whether the app got at the device past the enforcement point, which cut it off. This is no use, but a row of the
    /// history.
    public var isBypass: Bool

    public init(
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

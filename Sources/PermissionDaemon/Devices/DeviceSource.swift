// The source of devices: `Udev`, or a fake one in tests.

import DBus

struct DeviceEvent: Sendable, Hashable {
    let subsystem: String
    let syspath: String
    let isRemoval: Bool
}

@LoopActor
protocol DeviceSource: AnyObject {
    /// All current entries of a subsystem; nil if they cannot be listed now.
    func records(of subsystem: String) -> [DeviceRecord]?
    /// Reports events of these subsystems from now on. Events that arrive together are reported in one call.
    func start(_ subsystems: [String], onEvents: @escaping @LoopActor ([DeviceEvent]) -> Void)
    /// Reasons why events may not arrive, for a person to read.
    var problems: [String] { get }
}

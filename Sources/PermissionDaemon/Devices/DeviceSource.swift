// Where devices come from. `Udev` is the real one; tests bring their own.

import DBus

struct DeviceEvent: Sendable, Hashable {
    let subsystem: String
    /// Empty when nobody can say which one it is about: any of the subsystem may be another one now, or gone.
    let syspath: String
    let isRemoval: Bool
}

@LoopActor
protocol DeviceSource: AnyObject {
    /// Everything of a subsystem that is there now; nothing when sysfs is not.
    func records(of subsystem: String) -> [DeviceRecord]
    /// Reports events of these subsystems from now on, those that arrive together in one call.
    func start(_ subsystems: [String], onEvents: @escaping @LoopActor ([DeviceEvent]) -> Void)
    func stop()
    /// Why events may not come, for a person to read.
    var problems: [String] { get }
}

// The source of devices: `Udev`, or a fake one in tests.

package import DBus

package struct DeviceEvent: Sendable, Hashable {
    package let subsystem: String
    package let syspath: String
    package let isRemoval: Bool

    package init(subsystem: String, syspath: String, isRemoval: Bool) {
        (self.subsystem, self.syspath, self.isRemoval) = (subsystem, syspath, isRemoval)
    }
}

@LoopActor
package protocol DeviceSource: AnyObject {
    /// All current entries of a subsystem; nil if they cannot be listed now.
    func records(of subsystem: String) -> [DeviceRecord]?
    /// Reports events of these subsystems from now on. Events that arrive together are reported in one call.
    func start(_ subsystems: [String], onEvents: @escaping @LoopActor ([DeviceEvent]) -> Void)
    /// Reasons why events may not arrive, for a person to read.
    var problems: [String] { get }
}

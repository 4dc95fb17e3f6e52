// Finds and watches devices with libsystemd's sd-device. Only this file uses the library's pointers.

import CSystemd
package import DBus
import Glibc
import System

@LoopActor
package final class Udev: DeviceSource {
    private var event: OpaquePointer?
    private var monitor: OpaquePointer?
    private var token: WatchToken?
    private var pending: [DeviceEvent] = []
    private var onEvents: (@LoopActor ([DeviceEvent]) -> Void)?
    /// The reference to this object that the running monitor uses.
    private var context: Unmanaged<Udev>?
    package private(set) var problems: [String] = []
    private var subsystems: [String] = []

    /// Large enough for a burst of hot-plug events. The kernel may grant less.
    private static let receiveBuffer = 8 << 20
    /// The number of descriptors that scanning a device needs at once, and one to spare.
    private static let descriptors = 4

    package init() {}

    package func records(of subsystem: String) -> [DeviceRecord]? {
        // Without free descriptors, libsystemd would report that there are no devices.
        Udev.hasDescriptors() ? Udev.enumerated(subsystem) : nil
    }

    private static func hasDescriptors() -> Bool {
        let probes = (0..<descriptors).map { _ in Glibc.open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        for probe in probes where probe >= 0 { Glibc.close(probe) }
        return probes.allSatisfy { $0 >= 0 }
    }

    private static func enumerated(_ subsystem: String) -> [DeviceRecord] {
        var enumerator: OpaquePointer?
        guard sd_device_enumerator_new(&enumerator) >= 0 else { return [] }
        defer { sd_device_enumerator_unref(enumerator) }
        // Without udevd, devices exist but are never initialised.
        guard sd_device_enumerator_add_match_subsystem(enumerator, subsystem, 1) >= 0,
            sd_device_enumerator_allow_uninitialized(enumerator) >= 0
        else { return [] }
        var records: [DeviceRecord] = []
        var next = sd_device_enumerator_get_device_first(enumerator)
        while let device = next {
            if let record = Udev.record(device, subsystem) { records.append(record) }
            next = sd_device_enumerator_get_device_next(enumerator)
        }
        return records
    }

    private static func record(_ device: OpaquePointer, _ subsystem: String) -> DeviceRecord? {
        guard let syspath = text({ sd_device_get_syspath(device, $0) }) else { return nil }
        var record = DeviceRecord(subsystem: subsystem, syspath: syspath)
        record.node = text { sd_device_get_devname(device, $0) } ?? ""
        var number = dev_t()
        if sd_device_get_devnum(device, &number) >= 0 { record.number = UInt64(number) }
        for name in DeviceRecord.attributeNames {
            record.attributes[name] = text { sd_device_get_sysattr_value(device, name, $0) }
        }
        for name in DeviceRecord.propertyNames {
            record.properties[name] = text { sd_device_get_property_value(device, name, $0) }
        }
        // Parents belong to the device and are not released here.
        var parent: OpaquePointer?
        if sd_device_get_parent(device, &parent) >= 0, let parent {
            for name in DeviceRecord.parentAttributeNames {
                record.parentAttributes[name] = text { sd_device_get_sysattr_value(parent, name, $0) }
            }
        }
        if sd_device_get_parent_with_subsystem_devtype(device, "usb", "usb_device", &parent) >= 0, let parent {
            record.product = text { sd_device_get_sysattr_value(parent, "product", $0) } ?? ""
        }
        return record
    }

    private static func text(_ get: (UnsafeMutablePointer<UnsafePointer<CChar>?>) -> Int32) -> String? {
        var value: UnsafePointer<CChar>?
        guard get(&value) >= 0, let value else { return nil }
        return String(cString: value)
    }

    // MARK: Monitor

    package func start(_ subsystems: [String], onEvents: @escaping @LoopActor ([DeviceEvent]) -> Void) {
        guard event == nil else { return }
        self.onEvents = onEvents
        self.subsystems = subsystems
        // This socket shows that udevd runs; mock devices send events without it.
        if access("/run/udev/control", F_OK) != 0 && getenv("UMOCKDEV_DIR") == nil {
            problems.append(
                "udev is not running; after plugging a device in or out, run: \(Systemd.reloadPermd)")
        }
        let failure = open()
        guard failure < 0 else { return pump() }
        close()
        problems.append("devices cannot be watched: \(errorText(-failure))")
    }

    private func open() -> Int32 {
        var result = sd_event_new(&event)
        if result >= 0 { result = sd_device_monitor_new(&monitor) }
        guard result >= 0, let event, let monitor else { return min(result, -1) }
        // The kernel may refuse this size; then the default applies.
        sd_device_monitor_set_receive_buffer_size(monitor, Udev.receiveBuffer)
        for subsystem in subsystems where result >= 0 {
            result = sd_device_monitor_filter_add_match_subsystem_devtype(monitor, subsystem, nil)
        }
        if result >= 0 { result = sd_device_monitor_attach_event(monitor, event) }
        guard result >= 0 else { return result }
        // SAFETY: the monitor's context is a separate reference, which close() releases once the monitor is gone.
        let context = Unmanaged.passRetained(self)
        self.context = context
        result = sd_device_monitor_start(monitor, Udev.received, context.toOpaque())
        guard result >= 0 else { return result }
        let fd = sd_event_get_fd(event)
        guard fd >= 0 else { return fd }
        token = Loop.shared.watch(unowned: fd, .readable) { [weak self] _ in self?.pump() }
        return 0
    }

    /// Ends watching.
    package func close() {
        token?.cancel()
        token = nil
        if let monitor {
            sd_device_monitor_stop(monitor)
            sd_device_monitor_detach_event(monitor)
            sd_device_monitor_unref(monitor)
        }
        if let event { sd_event_unref(event) }
        (monitor, event) = (nil, nil)
        // SAFETY: releases the reference of open(); no callback can follow.
        context?.release()
        context = nil
    }

    /// Called by sd_event_dispatch, which only `pump` calls.
    private static let received: sd_device_monitor_handler_t = { _, device, context in
        guard let device, let context else { return 0 }
        // SAFETY: the context is the reference that open() took; device is valid during this call.
        let seen = (device: UInt(bitPattern: device), context: UInt(bitPattern: context))
        LoopActor.assumeIsolated {
            guard let device = OpaquePointer(bitPattern: seen.device),
                let context = UnsafeMutableRawPointer(bitPattern: seen.context)
            else { return }
            Unmanaged<Udev>.fromOpaque(context).takeUnretainedValue().add(device)
        }
        return 0
    }

    private func add(_ device: OpaquePointer) {
        guard let subsystem = Udev.text({ sd_device_get_subsystem(device, $0) }),
            let syspath = Udev.text({ sd_device_get_syspath(device, $0) })
        else { return }
        var action = sd_device_action_t(rawValue: 0)
        let isKnown = sd_device_get_action(device, &action) >= 0
        pending.append(
            DeviceEvent(subsystem: subsystem, syspath: syspath, isRemoval: isKnown && action == SD_DEVICE_REMOVE))
    }

    /// Processes and reports everything that has arrived.
    private func pump() {
        var result: Int32 = 0
        repeat {
            result = sd_event_prepare(event)
            if result == 0 { result = sd_event_wait(event, 0) }
            if result > 0 { result = sd_event_dispatch(event) }
        } while result > 0
        if result < 0 {
            // The descriptor would stay ready, and the loop would spin.
            token?.cancel()
            problems.append("devices are no longer watched: \(errorText(-result))")
        }
        let events = pending
        pending = []
        if !events.isEmpty { onEvents?(events) }
    }
}

// The device nodes that are guarded, as they come and go.

import CGuard
import DBus
import DeviceNodes
import Glibc
import System

@LoopActor
final class GuardedNodes {
    private static let subsystems = ["video4linux", "sound", "gnss"]
    /// Of V4L2 and ALSA (Documentation/admin-guide/devices.txt). That of gnss is dynamic.
    private static let majors: [UInt32] = [81, 116]

    private let kernel: Kernel
    private let udev = Udev()
    private let worker = Worker()
    /// The nodes that are cameras, by their entries in sysfs.
    private var cameras: Set<String> = []
    private var numbers: [String: UInt32] = [:]
    /// The nodes that are being asked what they are.
    private var asked: Set<UInt32> = []
    private let changed: @LoopActor () -> Void

    /// - Parameter changed: Called when a node has become known.
    init(_ kernel: Kernel, changed: @escaping @LoopActor () -> Void) {
        self.kernel = kernel
        self.changed = changed
    }

    var problems: [String] { udev.problems }

    func start() {
        for major in GuardedNodes.majors { kernel.majors.set(major, GUARD_UNKNOWN.rawValue) }
        udev.start(GuardedNodes.subsystems) { [weak self] events in
            for event in events { self?.received(event) }
        }
        readAll()
    }

    private func received(_ event: DeviceEvent) {
        if event.isRemoval {
            remove(event.syspath)
        } else if numbers[event.syspath] == nil {
            readAll()
        }
    }

    private func readAll() {
        for subsystem in GuardedNodes.subsystems {
            for record in udev.records(of: subsystem) ?? [] where numbers[record.syspath] == nil { add(record) }
        }
    }

    private func remove(_ syspath: String) {
        guard let number = numbers.removeValue(forKey: syspath) else { return }
        kernel.nodes.remove(number)
        cameras.remove(syspath)
        kernel.isStreaming = !cameras.isEmpty
    }

    private func add(_ record: DeviceRecord) {
        guard let number = record.number else { return }
        guard record.subsystem == "video4linux" else {
            return set(record.syspath, number, GuardedNodes.kind(of: record))
        }
        // Opening a camera may take long, or never end if its hardware hangs.
        guard asked.insert(GuardedNodes.kernelNumber(number)).inserted else { return }
        worker.run(about: record.node) {
            VideoNode.query(record.node)
        } then: { [weak self] answer in
            self?.asked.remove(GuardedNodes.kernelNumber(number))
            self?.set(record.syspath, number, GuardedNodes.kind(of: answer))
        }
    }

    private func set(_ syspath: String, _ number: UInt64, _ kind: UInt32) {
        let device = GuardedNodes.kernelNumber(number)
        numbers[syspath] = device
        if kind & GUARD_KIND_MASK.rawValue == GUARD_CAMERA.rawValue {
            cameras.insert(syspath)
            kernel.isStreaming = true
        }
        kernel.nodes.set(device, kind)
        changed()
    }

    /// A thread waits for a node that is not known.
    func find(_ device: UInt32) {
        readAll()
        guard !asked.contains(device), !numbers.values.contains(device) else { return }
        // No device has that number, so opening the node fails.
        kernel.nodes.set(device, GUARD_NOTHING.rawValue)
        changed()
    }

    private static func kind(of record: DeviceRecord) -> UInt32 {
        if record.subsystem == "gnss" { return GUARD_LOCATION.rawValue }
        return SoundNode.captureStream(record.sysname) == nil ? GUARD_NOTHING.rawValue : GUARD_MICROPHONE.rawValue
    }

    /// What cannot be asked is guarded when it is opened.
    private static func kind(of answer: VideoAnswer?) -> UInt32 {
        switch answer {
        case .capabilities(let flags, _) where !VideoNode.isCamera(flags): GUARD_NOTHING.rawValue
        case .capabilities(let flags, _) where !VideoNode.isReadable(flags):
            GUARD_CAMERA.rawValue | GUARD_AT_STREAM.rawValue
        case .unanswered(ENOTTY), .unanswered(EINVAL): GUARD_NOTHING.rawValue
        case .capabilities, .unopened, .unanswered, nil: GUARD_CAMERA.rawValue
        }
    }

    /// The kernel's own form of a device number, from that of stat(2).
    static func kernelNumber(_ number: UInt64) -> UInt32 {
        let major = UInt32(truncatingIfNeeded: number >> 8 & 0xFFF | number >> 32 & ~0xFFF)
        let minor = UInt32(truncatingIfNeeded: number & 0xFF | number >> 12 & ~0xFF)
        return major << 20 | minor & 0xFFFFF
    }

    static func statNumber(_ number: UInt32) -> UInt64 {
        let (major, minor) = (UInt64(number >> 20), UInt64(number & 0xFFFFF))
        return minor & 0xFF | major << 8 | (minor & ~0xFF) << 12
    }
}

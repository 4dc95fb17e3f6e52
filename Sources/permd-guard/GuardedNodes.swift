// The device nodes that are guarded, as they come and go.

import CGuard
import DBus
import DeviceNodes
import Glibc
import System

@LoopActor
final class GuardedNodes {
    private static let subsystems = ["video4linux", "sound", "gnss"]
    /// A driver that comes or goes may get or give back numbers.
    private static let drivers = "module"
    /// Of V4L2 and ALSA (Documentation/admin-guide/devices.txt), with what their nodes may be. That of gnss is dynamic.
    private static let majors: [UInt32: guard_kind] = [81: GUARD_CAMERA, 116: GUARD_MICROPHONE]
    /// ALSA's sequencer and timer, whose nodes are there before their devices: opening them loads the modules (kmod's
    /// devname aliases). No other device gets these numbers.
    private static let loading: Set<UInt32> = [116 << 20 | 1, 116 << 20 | 33]
    /// Milliseconds after which a camera that has not said what it is is guarded when it is opened. Shorter than the
    /// kernel lets a thread wait for that.
    private static let patience: Int64 = 500

    private final class Node {
        let device: UInt32
        /// Nil until it is known.
        var kind: UInt32?

        init(device: UInt32) { self.device = device }
    }

    private let kernel: Kernel
    private let udev = Udev()
    private let worker = Worker()
    /// By their entries in sysfs.
    private var nodes: [String: Node] = [:]
    /// Numbers that are not looked for again before a device comes.
    private var missing: Set<UInt32> = []
    private let changed: @LoopActor () -> Void

    /// - Parameter changed: Called when a node has become known.
    init(_ kernel: Kernel, changed: @escaping @LoopActor () -> Void) {
        self.kernel = kernel
        self.changed = changed
    }

    var problems: [String] { udev.problems }

    func start() {
        for (major, kind) in GuardedNodes.majors { kernel.majors.set(major, kind.rawValue | GUARD_UNSORTED.rawValue) }
        readDrivers()
        // Their numbers may be other devices' by now; until that is known, who opens them waits.
        kernel.nodes.removeAll()
        udev.start(GuardedNodes.subsystems + [GuardedNodes.drivers]) { [weak self] events in
            for event in events { self?.received(event) }
        }
        readAll()
    }

    /// Stores what the nodes of each driver may be. A number of which nothing is stored is not known.
    private func readDrivers() {
        guard let drivers = CharacterDevices.drivers() else { return }
        for major in kernel.majors.keys where CharacterDevices.isDynamic(major) && drivers[major] == nil {
            kernel.majors.remove(major)
        }
        for (major, name) in drivers where CharacterDevices.isDynamic(major) {
            let kind = name == "gnss" ? GUARD_LOCATION.rawValue | GUARD_UNSORTED.rawValue : GUARD_NOTHING.rawValue
            kernel.majors.set(major, kind)
        }
    }

    private func received(_ event: DeviceEvent) {
        guard event.subsystem != GuardedNodes.drivers else { return readDrivers() }
        guard !event.isRemoval else { return remove(event.syspath) }
        missing = []
        if nodes[event.syspath] == nil { readAll() }
    }

    private func readAll() {
        for subsystem in GuardedNodes.subsystems {
            for record in udev.records(of: subsystem) ?? [] where nodes[record.syspath] == nil { add(record) }
        }
    }

    private func remove(_ syspath: String) {
        guard let node = nodes.removeValue(forKey: syspath) else { return }
        kernel.nodes.remove(node.device)
        kernel.isStreaming = has { _ in true }
        kernel.isReading = has(GuardedNodes.givesImagesByReading)
    }

    private func add(_ record: DeviceRecord) {
        guard let number = record.number else { return }
        let node = Node(device: GuardedNodes.kernelNumber(number))
        nodes[record.syspath] = node
        guard record.subsystem == "video4linux" else { return set(node, GuardedNodes.kind(of: record)) }
        // Programs feed it, and what it says it is changes with that.
        guard !record.syspath.hasPrefix("/sys/devices/virtual/") else {
            return set(node, GUARD_CAMERA.rawValue | GUARD_AT_STREAM.rawValue | GUARD_FED.rawValue)
        }
        // Opening a camera may take long, or never end if its hardware hangs.
        worker.run(about: record.node) {
            VideoNode.query(record.node, inDetail: false)
        } then: { [weak self] answer in
            guard let self, nodes[record.syspath] === node else { return }
            set(node, GuardedNodes.kind(of: answer))
        }
        Loop.shared.after(milliseconds: GuardedNodes.patience) { [weak self] in
            guard let self, nodes[record.syspath] === node, node.kind == nil else { return }
            set(node, GuardedNodes.kind(of: nil))
        }
    }

    private func set(_ node: Node, _ kind: UInt32) {
        node.kind = kind
        // Only a removal detaches: after a restart, the earlier run's programs stay until it is known what the cameras are.
        if has({ _ in true }) { kernel.isStreaming = true }
        if has(GuardedNodes.givesImagesByReading) { kernel.isReading = true }
        kernel.nodes.set(node.device, kind)
        changed()
    }

    /// Whether there is a camera whose kind satisfies the condition.
    private func has(_ condition: (UInt32) -> Bool) -> Bool {
        nodes.values.contains {
            guard let kind = $0.kind, kind & GUARD_KIND_MASK.rawValue == GUARD_CAMERA.rawValue else { return false }
            return condition(kind)
        }
    }

    private static func givesImagesByReading(_ kind: UInt32) -> Bool {
        kind & GUARD_AT_STREAM.rawValue == 0 || kind & GUARD_FED.rawValue != 0
    }

    /// Whether it is known what a device is of which the kernel does not know it; nil if there is no such device, as when
    /// a container's node of one that was removed is opened.
    func isKnown(_ device: UInt32) -> Bool? {
        guard !GuardedNodes.loading.contains(device) else {
            kernel.nodes.set(device, GUARD_NOTHING.rawValue)
            return true
        }
        if CharacterDevices.isDynamic(device >> 20) {
            readDrivers()
            if kernel.majors[device >> 20] == GUARD_NOTHING.rawValue { return true }
        }
        guard !missing.contains(device) else { return nil }
        readAll()
        guard let node = nodes.values.first(where: { $0.device == device }) else {
            missing.insert(device)
            return nil
        }
        // The removal of an earlier device of that number may have come after it.
        if let kind = node.kind { kernel.nodes.set(device, kind) }
        return node.kind != nil
    }

    private static func kind(of record: DeviceRecord) -> UInt32 {
        if record.subsystem == "gnss" { return GUARD_LOCATION.rawValue }
        if SoundNode.captureStream(record.sysname) != nil { return GUARD_MICROPHONE.rawValue }
        // The kernel's compressed streams have one node for both directions.
        let isCompressed = record.sysname.hasPrefix("comprC")
        return isCompressed ? GUARD_MICROPHONE.rawValue | GUARD_IF_READ.rawValue : GUARD_NOTHING.rawValue
    }

    /// What cannot be asked is guarded when it is opened.
    private static func kind(of answer: VideoQuery?) -> UInt32 {
        switch answer {
        case .capabilities(let flags, _, _, _) where !VideoNode.isCamera(flags): GUARD_NOTHING.rawValue
        case .capabilities(let flags, _, _, _) where !VideoNode.isReadable(flags):
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

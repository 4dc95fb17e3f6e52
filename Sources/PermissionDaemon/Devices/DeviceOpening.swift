// Opens a device's node for an app, and verifies that the opened node is that device.

import CLinux
import DBus
import Glibc
import PermissionModel
import System

extension DeviceCatalog {
    /// Throws if no device of this permission ever has a node.
    func checkNodes(of permission: Permission) throws(PermissionError) {
        guard let kind = kind(of: permission), kind.nodeUse != .none else {
            throw DeviceCatalog.withoutNode(permission)
        }
    }

    private static func withoutNode(_ permission: Permission) -> PermissionError {
        PermissionError(.notSupported, "\(permission.rawValue) has no device node to open")
    }

    /// Opens the default device (for an empty name), or the one with that ID or node. The descriptor is blocking and
    /// close-on-exec. If `writable` is nil, the kind of device determines the mode.
    func open(
        _ permission: Permission, device name: String, writable: Bool?,
        _ completion: @escaping @LoopActor (Result<OpenedDevice, PermissionError>) -> Void
    ) throws(PermissionError) {
        guard let kind = kind(of: permission), kind.canOpen(name, among: found[permission, default: []]) else {
            throw DeviceCatalog.withoutNode(permission)
        }
        let chosen = try DeviceCatalog.choose(name, from: found[permission, default: []], permission)
        let isWritable = writable ?? (kind.nodeUse == .readingAndWriting)
        worker.run(about: chosen.device.node) {
            NodeOpener.open(chosen, isWritable: isWritable)
        } then: {
            completion($0 ?? .failure(NodeOpener.unavailable(chosen.device, .system(ETIMEDOUT))))
        }
    }

    /// The device with that name. Without a name, the first one with a node.
    static func choose(
        _ name: String, from all: [FoundDevice], _ permission: Permission
    ) throws(PermissionError) -> FoundDevice {
        let withNode = all.filter { !$0.device.node.isEmpty }
        guard let chosen = withNode.first(where: { name.isEmpty || $0.device.id == name || $0.device.node == name })
        else {
            throw name.isEmpty
                ? PermissionError(.deviceUnavailable, "no \(permission.rawValue) device is present")
                : PermissionError(.notFound, "there is no \(permission.rawValue) device with that name")
        }
        guard chosen.device.isUsable else { throw PermissionError(.deviceUnavailable, chosen.device.problem) }
        return chosen
    }
}

struct OpenedDevice: Sendable {
    let descriptor: UnixFD
    let isWritable: Bool
    let device: Device
}

/// Opens a node and verifies that the opened file is the intended device. This may block.
enum NodeOpener {
    enum Failure: Error, Equatable {
        case system(Int32)
        /// The path now leads to another file.
        case otherDevice
    }

    static func open(_ found: FoundDevice, isWritable: Bool) -> Result<OpenedDevice, PermissionError> {
        open(found.device.node, number: found.number, isWritable: isWritable)
            .map { OpenedDevice(descriptor: $0, isWritable: isWritable, device: found.device) }
            .mapError { unavailable(found.device, $0) }
    }

    static func unavailable(_ device: Device, _ failure: Failure) -> PermissionError {
        switch failure {
        case .otherDevice: PermissionError(.deviceUnavailable, "\(device.node) is now another device; try again")
        case .system(EBUSY), .system(EAGAIN):
            PermissionError(.deviceUnavailable, "\(device.name) is in use by another program")
        case .system(let code):
            PermissionError(.deviceUnavailable, NodeProblem.text(code, node: device.node))
        }
    }

    static func open(_ node: String, number: UInt64?, isWritable: Bool) -> Result<UnixFD, Failure> {
        if let failure = check(node, number) { return .failure(failure) }
        // A microphone in use would block.
        let fd = UnixFD(
            owning: Glibc.open(node, (isWritable ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_CLOEXEC | O_NOCTTY))
        guard fd.raw >= 0 else { return .failure(.system(errno)) }
        // The path is checked before and after opening, because only the path of a mock device has its number. Only
        // root could replace the path and restore it in between.
        var status = stat()
        guard fstat(fd.raw, &status) == 0, status.st_mode & S_IFMT == S_IFCHR, check(node, number) == nil else {
            return .failure(.otherDevice)
        }
        let flags = fcntl(fd.raw, F_GETFL)
        guard flags >= 0, fcntl(fd.raw, F_SETFL, flags & ~O_NONBLOCK) == 0 else { return .failure(.system(errno)) }
        return .success(fd)
    }

    private static func check(_ node: String, _ number: UInt64?) -> Failure? {
        var status = stat()
        guard stat(node, &status) == 0 else { return .system(errno) }
        let isRight = status.st_mode & S_IFMT == S_IFCHR && (number == nil || UInt64(status.st_rdev) == number)
        return isRight ? nil : .otherDevice
    }
}

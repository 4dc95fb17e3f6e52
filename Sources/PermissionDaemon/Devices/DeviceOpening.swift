// Opens a device's node for an app, and verifies that the opened node is that device.

import CLinux
import Glibc
import PermissionModel

extension DeviceCatalog {
    /// Whether a device with that name (the default one if empty) can be opened, whether or not it is present.
    func canOpen(_ permission: Permission, device name: String = "") -> Bool {
        kind(of: permission)?.canOpen(name, among: found[permission, default: []]) ?? false
    }

    /// Opens the default device (for an empty name), or the one with that ID or node. The caller must close the
    /// descriptor, which is blocking and close-on-exec. If `writable` is nil, the kind of device determines the mode.
    func open(
        _ permission: Permission, device name: String, writable: Bool?
    ) throws(PermissionError) -> (fd: Int32, isWritable: Bool, device: Device) {
        guard canOpen(permission, device: name) else {
            throw PermissionError(.notSupported, "\(permission.rawValue) has no device node to open")
        }
        let chosen = try DeviceCatalog.choose(name, from: found[permission, default: []], permission)
        let isWritable = writable ?? (kind(of: permission)?.nodeUse == .readingAndWriting)
        let node = chosen.device.node
        switch NodeOpener.open(node, number: chosen.number, isWritable: isWritable) {
        case .success(let fd): return (fd, isWritable, chosen.device)
        case .failure(.otherDevice):
            throw PermissionError(.deviceUnavailable, "\(node) is now another device; try again")
        case .failure(.system(let code)) where code == EBUSY || code == EAGAIN:
            throw PermissionError(.deviceUnavailable, "\(chosen.device.name) is in use by another program")
        case .failure(.system(let code)):
            let group = code == EACCES ? SystemProbe().group(of: node) : nil
            throw PermissionError(.deviceUnavailable, NodeProblem.text(code, node: node, group: group))
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

/// Opens a node and verifies that the opened file is the intended device.
enum NodeOpener {
    enum Failure: Error, Equatable {
        case system(Int32)
        /// The path now leads to another file.
        case otherDevice
    }

    static func open(_ node: String, number: UInt64?, isWritable: Bool) -> Result<Int32, Failure> {
        if let failure = check(node, number) { return .failure(failure) }
        // Opening must not block: a microphone in use would stop the whole daemon.
        let fd = Glibc.open(node, (isWritable ? O_RDWR : O_RDONLY) | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard fd >= 0 else { return .failure(.system(errno)) }
        // The path is checked before and after opening, because only the path of a mock device has its number. Only
        // root could replace the path and restore it in between.
        var status = stat()
        guard fstat(fd, &status) == 0, status.st_mode & S_IFMT == S_IFCHR, check(node, number) == nil else {
            close(fd)
            return .failure(.otherDevice)
        }
        let flags = fcntl(fd, F_GETFL)
        guard flags >= 0, fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) == 0 else {
            let code = errno
            close(fd)
            return .failure(.system(code))
        }
        return .success(fd)
    }

    private static func check(_ node: String, _ number: UInt64?) -> Failure? {
        var status = stat()
        guard stat(node, &status) == 0 else { return .system(errno) }
        let isRight = status.st_mode & S_IFMT == S_IFCHR && (number == nil || UInt64(status.st_rdev) == number)
        return isRight ? nil : .otherDevice
    }
}

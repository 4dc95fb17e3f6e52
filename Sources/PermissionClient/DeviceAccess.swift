// Opens devices through the daemon.

import DBus
import Glibc
public import PermissionModel

/// An open file descriptor. It is closed when the last reference is released, unless ``take()`` was called.
public final class OwnedDescriptor: Sendable {
    private let descriptor: UnixFD

    init(_ descriptor: UnixFD) { self.descriptor = descriptor }

    /// The descriptor, which this object still owns: valid until the object is released or ``take()`` is called; -1
    /// after ``take()``.
    public var raw: Int32 { descriptor.raw }

    /// Returns the descriptor and gives up its ownership: the caller must call close(2). It has the flag `FD_CLOEXEC`.
    /// Returns -1 if it was taken before.
    public func take() -> Int32 { descriptor.take() }
}

/// A device that the daemon has opened for this process.
public struct OpenedDevice: Sendable {
    /// The open descriptor of the device's node.
    public let descriptor: OwnedDescriptor
    /// The permission.
    public let permission: Permission
    /// The ID of the device, which is the same after re-plugging.
    public let id: String
    /// The path of the node, such as `/dev/video0`.
    public let node: String
    /// The name of the device, for the user.
    public let name: String
    /// Whether the node was opened for writing.
    public let isWritable: Bool
}

extension PermissionCenter {
    /// Opens a device while its permission is granted (org.permd.Access1.OpenDevice).
    ///
    /// The descriptor stays open when the permission ends. It works in a sandbox that has no access to the node.
    ///
    /// ```swift
    /// let camera = try await center.openDevice(.camera)
    /// try await capture(from: camera.descriptor.raw)
    /// ```
    /// - Parameters:
    ///   - permission: The permission.
    ///   - device: The ID or the node of a device; empty for the default device.
    ///   - isWritable: Whether to open the node for writing; nil for the default of that kind of device.
    /// - Throws: ``ClientError``. The daemon's errors, in the order in which it checks them, are `notSupported`
    ///   (bluetooth, and a location without a node), `notGranted`, `notFound` and `deviceUnavailable`.
    public func openDevice(
        _ permission: Permission, device: String = "", isWritable: Bool? = nil
    ) async throws(ClientError) -> OpenedDevice {
        let options: [String: Value] = isWritable.map { ["writable": .bool($0)] } ?? [:]
        let body = try await BusLink.shared(bus).call(
            BusNames.access, "OpenDevice", [.string(permission.rawValue), .string(device), .properties(options)])
        guard let descriptor = body.first?.unixFDValue, let values = body.last?.properties else {
            throw .unexpected("no file descriptor")
        }
        return OpenedDevice(
            descriptor: OwnedDescriptor(descriptor), permission: permission, id: values["id"]?.stringValue ?? "",
            node: values["node"]?.stringValue ?? "", name: values["name"]?.stringValue ?? "",
            isWritable: values["writable"]?.boolValue ?? false)
    }
}

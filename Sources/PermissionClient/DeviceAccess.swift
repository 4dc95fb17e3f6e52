// Opening a device by permission, instead of guessing a node.

import DBus
import Glibc
public import PermissionModel

/// An open file descriptor, closed with its last reference unless it was taken.
public final class OwnedDescriptor: Sendable {
    private let descriptor: UnixFD

    init(_ descriptor: UnixFD) { self.descriptor = descriptor }

    /// Borrowed: valid while this object lives and has not been taken; -1 afterwards.
    public var raw: Int32 { descriptor.raw }

    /// The descriptor, to be closed by the caller (close(2)); -1 when it was taken before. It is CLOEXEC.
    public func take() -> Int32 { descriptor.take() }
}

/// A device the daemon has opened for us.
public struct OpenedDevice: Sendable {
    public let descriptor: OwnedDescriptor
    public let permission: Permission
    /// Stable over re-plugging.
    public let id: String
    /// The path of its node.
    public let node: String
    public let name: String
    public let isWritable: Bool
}

extension PermissionCenter {
    /// Opens a device, while its permission is granted.
    ///
    /// ```swift
    /// let camera = try await center.openDevice(.camera)
    /// ioctl(camera.descriptor.raw, VIDIOC_QUERYCAP, &capability)
    /// ```
    /// - Parameters:
    ///   - device: an id or a node; empty for the default one.
    ///   - isWritable: nil for what that kind needs.
    /// - Throws: ``ClientError`` of the kinds `notSupported` (bluetooth, location without a node), `notGranted`,
    ///   `notFound` and `deviceUnavailable`.
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

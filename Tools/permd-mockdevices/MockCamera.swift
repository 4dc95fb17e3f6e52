// The ioctl replies of a mock video node.

import CLinux
import CUMockdev
import Glibc

/// Answers VIDIOC_QUERYCAP for one node, on umockdev's thread.
final class MockCamera {
    let handler: UnsafeMutablePointer<UMockdevIoctlBase>
    // SAFETY: written before the handler is connected, only read afterwards, and freed after the handler is released.
    private let answer: UnsafeMutablePointer<v4l2_capability>

    init(flags: UInt32, card: String, bus: String) {
        answer = .allocate(capacity: 1)
        var text = v4l2_capability()
        MockCamera.copy("mockcam", into: &text.driver)
        MockCamera.copy(card, into: &text.card)
        MockCamera.copy(bus, into: &text.bus_info)
        text.device_caps = flags
        // As in UVC, `capabilities` is the union over all nodes of the device.
        text.capabilities = flags | UInt32(V4L2_CAP_VIDEO_CAPTURE) | UInt32(V4L2_CAP_DEVICE_CAPS)
        answer.initialize(to: text)
        handler = umockdev_ioctl_base_new()
        let callback: @convention(c) (OpaquePointer?, OpaquePointer?, UnsafeMutableRawPointer?) -> gboolean = {
            _, client, context in MockCamera.answer(client, context)
        }
        // SAFETY: GObject calls the callback with the arguments of the signal's marshaller, which are these three.
        g_signal_connect_data(
            handler, "handle-ioctl", unsafeBitCast(callback, to: GCallback.self), answer, nil,
            GConnectFlags(rawValue: 0))
    }

    deinit {
        g_object_unref(handler)
        answer.deallocate()
    }

    private static func answer(_ client: OpaquePointer?, _ context: UnsafeMutableRawPointer?) -> gboolean {
        let client = UnsafeMutablePointer<UMockdevIoctlClient>(client)
        guard umockdev_ioctl_client_get_request(client) == mockVideoQueryCapability,
            let data = umockdev_ioctl_data_resolve(
                umockdev_ioctl_client_get_arg(client), 0, gsize(MemoryLayout<v4l2_capability>.size), nil)
        else {
            umockdev_ioctl_client_complete(client, -1, ENOTTY)
            return 1
        }
        let bytes = context?.assumingMemoryBound(to: guint8.self)
        umockdev_ioctl_data_update(data, 0, bytes, gint(MemoryLayout<v4l2_capability>.size))
        umockdev_ioctl_client_complete(client, 0, 0)
        g_object_unref(data)
        return 1
    }

    private static func copy<T>(_ text: String, into field: inout T) {
        withUnsafeMutableBytes(of: &field) { bytes in
            for (index, byte) in text.utf8.prefix(bytes.count - 1).enumerated() { bytes[index] = byte }
        }
    }
}

/// VIDIOC_QUERYCAP, `_IOR('V', 0, struct v4l2_capability)`: a macro that Swift cannot import.
private let mockVideoQueryCapability =
    gulong(2) << 30 | gulong(MemoryLayout<v4l2_capability>.size) << 16 | gulong(UInt8(ascii: "V")) << 8

// Which device nodes are cameras and microphones.

import CLinux
import Glibc

/// The answer of a video4linux node to VIDIOC_QUERYCAP.
package enum VideoQuery: Sendable, Hashable {
    /// Of this node, not of the whole device.
    case capabilities(_ flags: UInt32, card: String, isInfrared: Bool = false, shutter: Shutter? = nil)
    /// The errno of open(2); for `unanswered`, of the ioctl.
    case unopened(Int32)
    case unanswered(Int32)
}

/// What covers the lens, as far as the camera tells.
package enum Shutter: Sendable, Hashable {
    case open, closed
}

package enum VideoNode {
    /// Opens a node and asks what it is. This may block for as long as the hardware or its driver hangs.
    ///
    /// - Parameter inDetail: Whether to ask for the colors and the shutter, too. A camera that sleeps is woken for it.
    package static func query(_ node: String, inDetail: Bool) -> VideoQuery {
        let fd = open(node, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard fd >= 0 else { return .unopened(errno) }
        defer { close(fd) }
        var answer = v4l2_capability()
        guard clinux_v4l2_querycap(fd, &answer) == 0 else { return .unanswered(errno) }
        let hasOwnFlags = answer.capabilities & UInt32(V4L2_CAP_DEVICE_CAPS) != 0
        return .capabilities(
            hasOwnFlags ? answer.device_caps : answer.capabilities,
            card: withUnsafeBytes(of: answer.card) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) },
            isInfrared: inDetail && isInfrared(fd), shutter: inDetail ? shutter(fd) : nil)
    }

    private static func shutter(_ fd: Int32) -> Shutter? {
        switch clinux_v4l2_is_covered(fd) {
        case 0: .open
        case 1: .closed
        default: nil
        }
    }

    /// The pixel formats (fourcc) of images without colors and of distances.
    private static let infrared = Set(["GREY", "Y10 ", "Y12 ", "Y16 ", "Y8I ", "Y12I", "Z16 ", "INZI"].map(fourcc))
    /// A node has fewer formats.
    private static let mostFormats: UInt32 = 64

    private static func fourcc(_ text: String) -> UInt32 {
        text.utf8.reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// Whether all images of a node are of those, as of the cameras that recognize faces.
    private static func isInfrared(_ fd: Int32) -> Bool {
        let formats = Array((0..<mostFormats).lazy.map { clinux_v4l2_format(fd, $0) }.prefix { $0 != 0 })
        return !formats.isEmpty && formats.allSatisfy(infrared.contains)
    }

    /// Whether a node captures video and is no touch panel or codec. The metadata node of a UVC camera does not.
    package static func isCamera(_ flags: UInt32) -> Bool {
        let capture = UInt32(V4L2_CAP_VIDEO_CAPTURE) | UInt32(V4L2_CAP_VIDEO_CAPTURE_MPLANE)
        let other = UInt32(V4L2_CAP_TOUCH) | UInt32(V4L2_CAP_VIDEO_M2M) | UInt32(V4L2_CAP_VIDEO_M2M_MPLANE)
        return flags & capture != 0 && flags & other == 0
    }

    /// Whether a node needs no others to give images. The raw nodes of a MIPI pipeline do, such as those of IPU6, which a
    /// library configures (V4L2_CAP_IO_MC).
    package static func isIndependent(_ flags: UInt32) -> Bool { flags & UInt32(V4L2_CAP_IO_MC) == 0 }

    /// Whether images can be had with read(2), too.
    package static func isReadable(_ flags: UInt32) -> Bool { flags & UInt32(V4L2_CAP_READWRITE) != 0 }
}

package enum SoundNode {
    /// `pcmC1D0c` is the capture side of device 0 on card 1; nil for everything else.
    package static func captureStream(_ sysname: String) -> (card: Int, device: Int)? {
        guard sysname.hasPrefix("pcmC"), sysname.hasSuffix("c") else { return nil }
        let numbers = sysname.dropFirst(4).dropLast().split(separator: "D", omittingEmptySubsequences: false)
        guard numbers.count == 2, let card = decimal(numbers[0]), let device = decimal(numbers[1]) else { return nil }
        return (card, device)
    }

    /// Accepts digits only; `Int` also accepts a sign.
    package static func decimal(_ text: Substring) -> Int? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
    }
}

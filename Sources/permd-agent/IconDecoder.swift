// Decodes one icon in a separate process: the app chose the file, and a crafted file of a few KB can take gigabytes of
// memory or minutes to decode.

import CAdwaita
import Glibc
import System

/// Writes the width and the height (four bytes each, little-endian) and RGBA pixels to stdout; nothing if the file is
/// not an icon.
enum IconDecoder {
    /// The argument that starts this program as a decoder; the file follows it.
    static let argument = "--decode-icon"
    /// The greatest width and height that is written: a 48-pixel icon on a screen with a scale factor of two.
    static let side = 96
    static let headerBytes = 8

    /// The largest file that is read. Bitmap icons have a few KB, and drawings rarely more than a hundred.
    private static let maximumBytes = 2 << 20
    /// The largest bitmap that is decoded. The largest icons are 512 by 512 in icon themes and 1024 by 1024 in app
    /// stores.
    private static let maximumPixels: Int64 = 2048 * 2048
    /// The memory limit in bytes: enough for the libraries and some bitmaps of the size above.
    private static let memory: UInt = 96 << 20
    /// The limit of CPU time in seconds; decoding an icon takes some milliseconds.
    private static let processorSeconds: UInt = 2

    static func main(_ file: String) -> Never {
        cadw_limit(memory, processorSeconds)
        guard let bytes = try? RegularFile.read(file, maximum: maximumBytes), let pixels = decode(bytes) else {
            exit(1)
        }
        var rest = pixels[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            guard count > 0 else { exit(1) }
            rest = rest.dropFirst(count)
        }
        exit(0)
    }

    private static func decode(_ bytes: [UInt8]) -> [UInt8]? {
        // The formats of the Icon Theme Specification; no other decoder is used.
        let isPNG = bytes.starts(with: [0x89, 0x50, 0x4E, 0x47])
        guard let loader = gdk_pixbuf_loader_new_with_type(isPNG ? "png" : "svg", nil) else { return nil }
        defer { g_object_unref(loader) }
        cadw_connect_size(loader) { loader, width, height in IconDecoder.fit(loader, width, height) }
        let isWritten = gdk_pixbuf_loader_write(loader, bytes, gsize(bytes.count), nil) != 0
        guard gdk_pixbuf_loader_close(loader, nil) != 0, isWritten, let icon = gdk_pixbuf_loader_get_pixbuf(loader)
        else { return nil }
        return pixels(of: icon)
    }

    /// Called when the size is known and nothing is decoded yet: rejects or scales the image.
    private static func fit(_ loader: UnsafeMutablePointer<GdkPixbufLoader>?, _ width: Int32, _ height: Int32) {
        guard let format = gdk_pixbuf_loader_get_format(loader) else { return }
        let isDrawing = gdk_pixbuf_format_is_scalable(format) != 0
        guard width > 0, height > 0, isDrawing || Int64(width) * Int64(height) <= maximumPixels else {
            // Makes the decoder fail.
            return gdk_pixbuf_loader_set_size(loader, 0, 0)
        }
        let scale = Double(side) / Double(max(width, height))
        guard isDrawing || scale < 1 else { return }
        let scaled = { (length: Int32) in Int32(max(1, min(Double(side), Double(length) * scale))) }
        gdk_pixbuf_loader_set_size(loader, scaled(width), scaled(height))
    }

    // SAFETY: reads only the rows that the pixbuf reports, while `icon` lives.
    private static func pixels(of icon: OpaquePointer) -> [UInt8]? {
        let (width, height) = (Int(gdk_pixbuf_get_width(icon)), Int(gdk_pixbuf_get_height(icon)))
        guard (1...side).contains(width), (1...side).contains(height),
            let opaque = gdk_pixbuf_add_alpha(icon, 0, 0, 0, 0)
        else { return nil }
        defer { g_object_unref(UnsafeMutableRawPointer(opaque)) }
        guard let start = gdk_pixbuf_read_pixels(opaque), gdk_pixbuf_get_n_channels(opaque) == 4,
            gdk_pixbuf_get_bits_per_sample(opaque) == 8
        else { return nil }
        let stride = Int(gdk_pixbuf_get_rowstride(opaque))
        var result: [UInt8] = [width, height].flatMap { side in (0..<4).map { UInt8(side >> (8 * $0) & 0xFF) } }
        for row in 0..<height { result += UnsafeBufferPointer(start: start + row * stride, count: width * 4) }
        return result
    }
}

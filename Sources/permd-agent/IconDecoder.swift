// Decodes one icon, in a process of its own: an app chose the file, and a few KB can be made to take gigabytes or minutes.

import CGtk
import Glibc

/// Writes the width, the height (four bytes each, least first) and RGBA pixels to stdout; nothing for what is no icon.
enum IconDecoder {
    /// The argument that starts this program as a decoder, before the file.
    static let argument = "--decode-icon"
    /// Pixels on a side of what is written: an icon of 48 on a screen of twice the density.
    static let side = 96
    static let headerBytes = 8

    /// Icons have a few KB, and drawings rarely more than a hundred.
    private static let maximumBytes = 2 << 20
    /// Of a bitmap, before it is decoded. The largest size of the icon themes is 512 by 512, of app stores 1024 by 1024.
    private static let maximumPixels: Int64 = 2048 * 2048
    /// Bytes of memory: the libraries' own, and some bitmaps of the size above.
    private static let memory: UInt = 96 << 20
    /// Seconds of the processor; decoding takes some milliseconds.
    private static let processorSeconds: UInt = 2

    static func main(_ file: String) -> Never {
        cgtk_limit(memory, processorSeconds)
        guard let bytes = read(file), let pixels = decode(bytes) else { exit(1) }
        var rest = pixels[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
            guard count > 0 else { exit(1) }
            rest = rest.dropFirst(count)
        }
        exit(0)
    }

    /// Of a regular file alone: opening a FIFO or a terminal would wait.
    private static func read(_ path: String) -> [UInt8]? {
        let fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        guard fd >= 0 else { return nil }
        defer { close(fd) }
        var status = stat()
        guard fstat(fd, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_size <= maximumBytes else {
            return nil
        }
        // It may grow meanwhile.
        var bytes = [UInt8](repeating: 0, count: maximumBytes + 1)
        var length = 0
        while length < bytes.count {
            let count = bytes.withUnsafeMutableBytes { Glibc.read(fd, $0.baseAddress! + length, $0.count - length) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            length += count
        }
        return (1...maximumBytes).contains(length) ? Array(bytes[..<length]) : nil
    }

    private static func decode(_ bytes: [UInt8]) -> [UInt8]? {
        // What the icon themes are made of (Icon Theme Specification); no other decoder gets anything to read.
        let isPNG = bytes.starts(with: [0x89, 0x50, 0x4E, 0x47])
        guard let loader = gdk_pixbuf_loader_new_with_type(isPNG ? "png" : "svg", nil) else { return nil }
        defer { g_object_unref(loader) }
        cgtk_connect_size(loader) { loader, width, height in IconDecoder.fit(loader, width, height) }
        let isWritten = gdk_pixbuf_loader_write(loader, bytes, gsize(bytes.count), nil) != 0
        guard gdk_pixbuf_loader_close(loader, nil) != 0, isWritten, let icon = gdk_pixbuf_loader_get_pixbuf(loader)
        else { return nil }
        return pixels(of: icon)
    }

    /// The size is known, nothing is decoded yet.
    private static func fit(_ loader: UnsafeMutablePointer<GdkPixbufLoader>?, _ width: Int32, _ height: Int32) {
        guard let format = gdk_pixbuf_loader_get_format(loader) else { return }
        let isDrawing = gdk_pixbuf_format_is_scalable(format) != 0
        guard width > 0, height > 0, isDrawing || Int64(width) * Int64(height) <= maximumPixels else {
            // The decoder refuses that.
            return gdk_pixbuf_loader_set_size(loader, 0, 0)
        }
        let scale = Double(side) / Double(max(width, height))
        guard isDrawing || scale < 1 else { return }
        let scaled = { (length: Int32) in Int32(max(1, min(Double(side), Double(length) * scale))) }
        gdk_pixbuf_loader_set_size(loader, scaled(width), scaled(height))
    }

    // SAFETY: reads the rows that the pixbuf says it has, while `icon` lives.
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

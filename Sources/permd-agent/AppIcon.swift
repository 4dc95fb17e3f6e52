// An app's icon in a window: a generic icon until a separate process has decoded the app's own.

import CAdwaita
import Glibc

/// A running decoding process. Keeps its image and itself alive until the process ends.
final class AppIcon {
    static let generic = "application-x-executable"
    /// Seconds after which decoding is given up, as when the file is on a disk that does not respond.
    private static let patience: UInt32 = 5
    private static let maximumBytes = IconDecoder.headerBytes + IconDecoder.side * IconDecoder.side * 4

    private let image: UnsafeMutablePointer<GtkWidget>
    private let process: OpaquePointer
    private let buffer: UnsafeMutableRawPointer
    private var timer: UInt32 = 0

    /// Returns an image for the icon, which is a name in the icon theme or a path.
    static func image(_ icon: String) -> UnsafeMutablePointer<GtkWidget> {
        let image = gtk_image_new_from_icon_name(generic)!
        if let file = file(of: icon) { AppIcon.decode(file, for: image) }
        return image
    }

    /// Returns the file for an icon. Theme files are no more trusted than paths: both go to the decoding process.
    private static func file(of icon: String) -> String? {
        guard !icon.isEmpty, !icon.hasPrefix("/") else { return icon.isEmpty ? nil : icon }
        guard let display = gdk_display_get_default(), let theme = gtk_icon_theme_get_for_display(display),
            gtk_icon_theme_has_icon(theme, icon) != 0,
            let found = gtk_icon_theme_lookup_icon(
                theme, icon, nil, 48, 2, GTK_TEXT_DIR_NONE, GtkIconLookupFlags(rawValue: 0))
        else { return nil }
        defer { g_object_unref(UnsafeMutableRawPointer(found)) }
        guard let file = gtk_icon_paintable_get_file(found) else { return nil }
        defer { g_object_unref(UnsafeMutableRawPointer(file)) }
        guard let path = g_file_get_path(file) else { return nil }
        defer { g_free(path) }
        return String(cString: path)
    }

    private static func decode(_ file: String, for image: UnsafeMutablePointer<GtkWidget>) {
        guard let launcher = cadw_reading_launcher_new() else { return }
        defer { g_object_unref(UnsafeMutableRawPointer(launcher)) }
        let arguments: [String] = ["/proc/self/exe", IconDecoder.argument, file]
        var words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) }
        words.append(nil)
        defer { for word in words { free(word) } }
        let process = words.withUnsafeMutableBufferPointer { words in
            words.withMemoryRebound(to: UnsafePointer<CChar>?.self) {
                g_subprocess_launcher_spawnv(launcher, $0.baseAddress, nil)
            }
        }
        if let process { AppIcon(image, process).begin() }
    }

    // SAFETY: `buffer` and the objects referred to live as long as this object, which `begin` retains until `end`.
    private init(_ image: UnsafeMutablePointer<GtkWidget>, _ process: OpaquePointer) {
        self.image = image
        self.process = process
        g_object_ref(UnsafeMutableRawPointer(image))
        buffer = .allocate(byteCount: AppIcon.maximumBytes + 1, alignment: 8)
    }

    deinit {
        buffer.deallocate()
        g_object_unref(UnsafeMutableRawPointer(process))
        g_object_unref(UnsafeMutableRawPointer(image))
    }

    private func begin() {
        let context = Unmanaged.passRetained(self).toOpaque()
        timer = g_timeout_add_seconds(
            AppIcon.patience,
            { context in
                guard let context else { return 0 }
                let icon = Unmanaged<AppIcon>.fromOpaque(context).takeUnretainedValue()
                icon.timer = 0
                // This also ends the reading of its output.
                g_subprocess_force_exit(icon.process)
                return 0
            }, context)
        g_input_stream_read_all_async(
            g_subprocess_get_stdout_pipe(process), buffer, gsize(AppIcon.maximumBytes + 1), G_PRIORITY_DEFAULT, nil,
            { source, result, context in
                guard let source, let context else { return }
                var count: gsize = 0
                let stream = UnsafeMutableRawPointer(source).assumingMemoryBound(to: GInputStream.self)
                let isRead = g_input_stream_read_all_finish(stream, result, &count, nil) != 0
                Unmanaged<AppIcon>.fromOpaque(context).takeRetainedValue().end(isRead ? Int(count) : 0)
            }, context)
    }

    private func end(_ count: Int) {
        if timer != 0 { g_source_remove(timer) }
        g_subprocess_force_exit(process)
        let bytes = UnsafeRawBufferPointer(start: buffer, count: count)
        guard count > IconDecoder.headerBytes else { return }
        let (width, height) = (
            Int(bytes.loadUnaligned(as: UInt32.self).littleEndian),
            Int(bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self).littleEndian)
        )
        let sides = 1...IconDecoder.side
        guard sides.contains(width), sides.contains(height), count == IconDecoder.headerBytes + width * height * 4,
            let pixels = g_bytes_new(buffer + IconDecoder.headerBytes, gsize(width * height * 4))
        else { return }
        defer { g_bytes_unref(pixels) }
        let texture = gdk_memory_texture_new(
            Int32(width), Int32(height), GDK_MEMORY_R8G8B8A8, pixels, gsize(width * 4))
        gtk_image_set_from_paintable(cadw_image(image), texture)
        if let texture { g_object_unref(UnsafeMutableRawPointer(texture)) }
    }
}

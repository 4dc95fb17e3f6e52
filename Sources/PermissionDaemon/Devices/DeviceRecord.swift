// What the kernel and udev say of one device, as values, and what can be told from that alone.

/// One entry of sysfs, with the attributes and properties that matter here.
struct DeviceRecord: Sendable, Hashable {
    var subsystem: String
    /// `/sys/devices/…`
    var syspath: String
    var node = ""
    /// dev_t
    var number: UInt64?
    var attributes: [String: String] = [:]
    var properties: [String: String] = [:]
    /// Attributes of the device it belongs to: a sound card's `id`, for one.
    var parentAttributes: [String: String] = [:]
    /// What the USB device it is part of calls itself, or empty.
    var product = ""

    static let attributeNames = ["name", "index", "pcm_class", "type", "soft", "hard"]
    static let parentAttributeNames = ["id"]
    static let propertyNames = ["ID_PATH", "ID_SERIAL", "ID_SERIAL_SHORT", "ID_V4L_CAPABILITIES", "ID_V4L_PRODUCT"]

    /// The last element of its path: `video0`, `hci0`.
    var sysname: String {
        String(syspath[(syspath.lastIndex(of: "/").map { syspath.index(after: $0) } ?? syspath.startIndex)...])
    }

    /// The number its name ends with.
    var sysnum: Int { Int(String(sysname.reversed().prefix(while: \.isWholeNumber).reversed())) ?? 0 }

    /// Where the hardware sits: the path without the part that the kernel numbers anew at each plugging.
    var place: String {
        var path = Substring(syspath)
        if path.hasPrefix("/sys/devices/") { path = path.dropFirst("/sys/devices/".count) }
        let parts = path.split(separator: "/")
        guard let cut = parts.lastIndex(of: Substring(subsystem)), cut > 0, !(cut == 1 && parts[0] == "virtual") else {
            return String(path)
        }
        return parts[..<cut].joined(separator: "/")
    }

    /// Names the hardware over re-plugging: by its own serial number if it has one, else by where it sits.
    var hardware: String {
        if let serial = properties["ID_SERIAL"], properties["ID_SERIAL_SHORT"]?.isEmpty == false { return serial }
        return properties["ID_PATH"] ?? place
    }
}

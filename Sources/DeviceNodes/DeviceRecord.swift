// What the kernel and udev report about a device, and what follows from that alone.

/// An entry of sysfs with the attributes and properties that are used.
package struct DeviceRecord: Sendable, Hashable {
    package var subsystem: String
    /// `/sys/devices/…`
    package var syspath: String
    package var node = ""
    /// dev_t
    package var number: UInt64?
    package var attributes: [String: String] = [:]
    package var properties: [String: String] = [:]
    /// Attributes of the parent device, such as the `id` of a sound card.
    package var parentAttributes: [String: String] = [:]
    /// The product name of the USB device that it is part of, or empty.
    package var product = ""

    package init(
        subsystem: String, syspath: String, node: String = "", number: UInt64? = nil,
        attributes: [String: String] = [:], properties: [String: String] = [:],
        parentAttributes: [String: String] = [:], product: String = ""
    ) {
        (self.subsystem, self.syspath, self.node, self.number) = (subsystem, syspath, node, number)
        (self.attributes, self.properties) = (attributes, properties)
        (self.parentAttributes, self.product) = (parentAttributes, product)
    }

    static let attributeNames = ["name", "index", "pcm_class", "soft", "hard"]
    static let parentAttributeNames = ["id"]
    static let propertyNames = ["ID_PATH", "ID_SERIAL", "ID_SERIAL_SHORT", "ID_V4L_CAPABILITIES", "ID_V4L_PRODUCT"]

    /// The last element of its path: `video0`, `hci0`.
    package var sysname: String { String(syspath.split(separator: "/").last ?? "") }

    /// The number at the end of its name.
    package var sysnum: Int { Int(String(sysname.reversed().prefix(while: \.isWholeNumber).reversed())) ?? 0 }

    /// The location of the hardware: the path without the part that the kernel renumbers at each plugging.
    package var place: String {
        var path = Substring(syspath)
        if path.hasPrefix("/sys/devices/") { path = path.dropFirst("/sys/devices/".count) }
        let parts = path.split(separator: "/")
        guard let cut = parts.lastIndex(of: Substring(subsystem)), cut > 0, !(cut == 1 && parts[0] == "virtual") else {
            return String(path)
        }
        return parts[..<cut].joined(separator: "/")
    }

    /// Identifies the hardware across re-plugging: by its serial number if it has one, otherwise by its location.
    package var hardware: String {
        if let serial = properties["ID_SERIAL"], properties["ID_SERIAL_SHORT"]?.isEmpty == false { return serial }
        return properties["ID_PATH"] ?? place
    }
}

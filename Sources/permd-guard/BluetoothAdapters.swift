// Whether a socket of Bluetooth leads anywhere. Programs that look for whatever a machine has, as Wireshark, make one.
// They know that a kernel may have no Bluetooth; a refusal would end them, and nobody could say what for.

import Glibc

enum BluetoothAdapters {
    private static let folder = "/sys/class/bluetooth"

    /// Whether the kernel has an adapter, whatever its state. Until it has one, nobody gets a socket: it could be kept.
    static var areThere: Bool {
        guard let stream = opendir(folder) else { return false }
        defer { closedir(stream) }
        while let entry = readdir(stream) {
            // Of a connection or a serial port, there is an adapter as well.
            if entry.pointee.d_name.0 != CChar(UInt8(ascii: ".")) { return true }
        }
        return false
    }
}

// Whether a socket of Bluetooth leads anywhere. Programs that look for whatever a machine has, as Wireshark, make one.
// They know that a kernel may have no Bluetooth; a refusal would end them, and nobody could say what for.

import System

enum BluetoothAdapters {
    private static let folder = "/sys/class/bluetooth"

    /// Whether the kernel has an adapter, whatever its state. Until it has one, nobody gets a socket: it could be kept.
    static var areThere: Bool {
        // Of a connection or a serial port, there is an adapter as well.
        !Folders.names(in: folder).isEmpty
    }
}

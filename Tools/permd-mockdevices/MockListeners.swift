// The processes that listen for the testbed's events, each on a socket in the testbed's folder.

import Glibc

enum MockListeners {
    /// The timeout in milliseconds for a listener that does not read its events.
    private static let patience: Int32 = 5000

    /// Waits until every listener's queue has room. umockdev aborts on a full queue, where the kernel would wait or
    /// drop the event.
    static func awaitRoom(in root: String) {
        for path in sockets(in: root) { awaitRoom(path) }
    }

    /// Runs `body` without any listener receiving events, because umockdev announces added devices itself.
    static func deaf<Result>(in root: String, _ body: () throws(MockFailure) -> Result) throws(MockFailure) -> Result {
        let paths = sockets(in: root)
        let aside = paths.map { "\(root)/aside-\($0.split(separator: "/").last ?? "")" }
        for (path, place) in zip(paths, aside) { rename(path, place) }
        defer { for (path, place) in zip(paths, aside) { rename(place, path) } }
        return try body()
    }

    private static func sockets(in root: String) -> [String] {
        var found = glob_t()
        defer { globfree(&found) }
        guard glob("\(root)/event*", 0, nil, &found) == 0 else { return [] }
        return (0..<Int(found.gl_pathc)).compactMap { found.gl_pathv[$0].map { String(cString: $0) } }
    }

    /// A connected datagram socket is writable once its peer's queue has room (unix(7)).
    private static func awaitRoom(_ path: String) {
        let fd = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard fd >= 0 else { return }
        defer { close(fd) }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { bytes in
            for (index, byte) in path.utf8.prefix(bytes.count - 1).enumerated() { bytes[index] = byte }
        }
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(fd, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        guard isConnected else { return }
        var wait = pollfd(fd: fd, events: Int16(POLLOUT), revents: 0)
        poll(&wait, 1, patience)
    }
}

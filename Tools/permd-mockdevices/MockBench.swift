// The testbed: the present devices, and how they are added and removed. All umockdev pointers are kept here.

import CUMockdev
import Glibc

final class MockBench {
    private struct Plug: Hashable {
        let kind: MockKind
        let number: Int
    }

    private struct Plugged {
        var entries: [MockEntry]
        var camera: MockCamera?
    }

    let root: String
    private let testbed: UnsafeMutablePointer<UMockdevTestbed>
    private var plugged: [Plug: Plugged] = [:]
    private var used: [String: Set<Int>] = [:]

    init() {
        testbed = umockdev_testbed_new()
        let path = umockdev_testbed_get_root_dir(testbed)
        root = String(cString: path!)
        g_free(path)
    }

    /// Removes the testbed's folder.
    func close() {
        plugged = [:]
        g_object_unref(testbed)
    }

    /// Adds a device without an event.
    func slip(_ kind: MockKind, _ number: Int, name: String?) throws(MockFailure) -> String {
        try MockListeners.deaf(in: root) { () throws(MockFailure) in try add(kind, number, name: name) }
    }

    /// Adds a device whose node is a link to a real character device, with that one's number.
    func add(
        _ kind: MockKind, _ number: Int, device: String, linkedTo target: String
    ) throws(MockFailure) -> String {
        let node = try MockListeners.deaf(in: root) { () throws(MockFailure) in
            let node = try add(kind, number, name: nil, device: device)
            unlink(root + node)
            guard symlink(target, root + node) == 0 else { throw MockFailure("the link cannot be made") }
            return node
        }
        for entry in plugged[Plug(kind: kind, number: number)]?.entries ?? [] { announce(entry, "add") }
        return node
    }

    func add(
        _ kind: MockKind, _ number: Int, name: String?, device: String? = nil
    ) throws(MockFailure) -> String {
        let plug = Plug(kind: kind, number: number)
        guard plugged[plug] == nil else { throw MockFailure("\(kind.rawValue) \(number) already exists") }
        var adapter = ""
        if kind == .connection {
            guard let host = plugged[Plug(kind: .bluetooth, number: number)] else {
                throw MockFailure("there is no adapter \(number)")
            }
            adapter = "\(host.entries[0].path)/\(host.entries[0].path.split(separator: "/").last!)"
        }
        var entries = kind.entries(number: number, unit: unit(kind, number), name: name, adapter: adapter)
        if let device { entries = entries.map { $0.node == nil ? $0 : $0.numbered(device) } }
        var failure: UnsafeMutablePointer<GError>?
        let node = entries.compactMap(\.node).first.map { "/dev/\($0)" } ?? ""
        var camera: MockCamera?
        // Attached before the node exists: umockdev aborts a process that opens a node without an ioctl handler.
        if let flags = kind.videoFlags {
            camera = MockCamera(flags: flags, card: name ?? "Mock Camera \(number)", bus: "platform:mockcam.\(number)")
            guard umockdev_testbed_attach_ioctl(testbed, node, camera?.handler, &failure) != 0 else {
                throw MockBench.failed(failure)
            }
        }
        for entry in entries where umockdev_testbed_add_from_string(testbed, entry.text, &failure) == 0 {
            throw MockBench.failed(failure)
        }
        plugged[plug] = Plugged(entries: entries, camera: camera)
        for entry in entries { announce(entry, "add") }
        return node
    }

    func remove(_ kind: MockKind, _ number: Int) throws(MockFailure) {
        let gone = try find(kind, number)
        plugged[Plug(kind: kind, number: number)] = nil
        for entry in gone.entries.reversed() {
            announce(entry, "remove")
            if let node = entry.node, let number = entry.attributes.first(where: { $0.0 == "dev" })?.1 {
                // umockdev does not remove these.
                unlink("\(root)/sys/dev/char/\(number)")
                unlink("\(root)/dev/\(node)")
                unlink("\(root)/dev/\(node).aside")
            }
            umockdev_testbed_remove_device(testbed, entry.syspath)
            if gone.camera != nil, let node = entry.node {
                umockdev_testbed_detach_ioctl(testbed, "/dev/\(node)", nil)
            }
        }
    }

    func change(_ kind: MockKind, _ number: Int) throws(MockFailure) {
        for entry in try find(kind, number).entries { announce(entry, "change") }
    }

    func block(_ number: Int, _ isBlocked: Bool) throws(MockFailure) {
        guard let entry = try find(.bluetooth, number).entries.last else { return }
        umockdev_testbed_set_attribute(testbed, entry.syspath, "soft", isBlocked ? "1" : "0")
        umockdev_testbed_set_attribute(testbed, entry.syspath, "state", isBlocked ? "0" : "1")
        announce(entry, "change")
    }

    /// Root can open any file, except those that the kernel makes write-only, so the node is replaced with a link to
    /// one.
    func setOpenable(_ node: String, _ isOpenable: Bool) throws(MockFailure) {
        let name = node.hasPrefix("/dev/") ? String(node.dropFirst(5)) : node
        guard let entry = plugged.values.flatMap(\.entries).first(where: { $0.node == name }) else {
            throw MockFailure("no such node: \(node)")
        }
        let path = "\(root)/dev/\(name)"
        let aside = "\(path).aside"
        let isAside = Glibc.access(aside, F_OK) == 0
        guard isAside == isOpenable else { throw MockFailure("\(node) is already in that state") }
        if isOpenable {
            rename(aside, path)
        } else {
            rename(path, aside)
            symlink("/proc/sys/vm/compact_memory", path)
        }
        announce(entry, "change")
    }

    private func announce(_ entry: MockEntry, _ action: String) {
        MockListeners.awaitRoom(in: root)
        umockdev_testbed_uevent(testbed, entry.syspath, action)
    }

    private func find(_ kind: MockKind, _ number: Int) throws(MockFailure) -> Plugged {
        guard let found = plugged[Plug(kind: kind, number: number)] else {
            throw MockFailure("there is no \(kind.rawValue) \(number)")
        }
        return found
    }

    /// Returns the number for a node. umockdev aborts if a node name is reused, and the kernel may renumber devices as
    /// well, so it is the requested number the first time and then the next unused one.
    private func unit(_ kind: MockKind, _ number: Int) -> Int {
        var unit = number
        while !used[kind.pool, default: []].insert(unit).inserted { unit += 1 }
        return unit
    }

    private static func failed(_ error: UnsafeMutablePointer<GError>?) -> MockFailure {
        defer { g_error_free(error) }
        return MockFailure(error.map { String(cString: $0.pointee.message) } ?? "umockdev failed")
    }
}

// Loads the BPF programs, attaches them, and receives their events (libbpf). Only this file uses the library's pointers.

import CGuard
import DBus
import Glibc
import GuardRules
import PermissionModel
import System

struct KernelProblem: Error {
    let message: String
    /// Whether the kernel cannot do it at all. Then everything is as without permd-guard; after any other failure, what an
    /// earlier run left in the kernel stays, so that nothing undecided passes.
    let standsAside: Bool

    init(_ message: String, standsAside: Bool = true) { (self.message, self.standsAside) = (message, standsAside) }

    /// - Parameter code: errno. What is only missing now may be there when this program is started again.
    init(_ message: String, _ code: Int32) {
        self.init("\(message): \(errorText(code))", standsAside: ![ENOMEM, EAGAIN, EMFILE, ENFILE].contains(code))
    }
}

@LoopActor
final class Kernel {
    /// The maps, by their names in bpf/guard.bpf.c.
    private static let maps = [
        "majors", "nodes", "users", "subordinates", "verdicts", "waits", "reported", "settings", "events",
    ]
    /// The kernel's own ENOTSUPP, which no header for programs has.
    private static let notSupported: Int32 = 524
    let majors: KernelMap<UInt32, UInt32>
    let nodes: KernelMap<UInt32, UInt32>
    let users: KernelMap<UInt32, guard_user>
    private let subordinates: KernelMap<UserPrefix, UInt32>
    private let groups: KernelMap<UInt64, guard_rate>
    let verdicts: KernelMap<guard_verdict_key, guard_decision>
    let waits: WaitTables
    let reported: KernelMap<UInt32, UInt32>
    let settings: KernelMap<UInt32, guard_settings>
    /// Called with events in their order.
    var onEvent: (@LoopActor (guard_event) -> Void)?
    /// Called after events with the hooks at which the kernel has left out a program for the first time.
    var onMissed: (@LoopActor ([String]) -> Void)?
    /// Why a device is not asked about at one of the hooks, by their names.
    private var attachProblems: [String: String] = [:]
    private let method: KernelHook.Method
    private let hasCompatHook: Bool
    private let object: OpaquePointer
    private var links: [String: OpaquePointer] = [:]
    /// How often the kernel has left out a program, by their names.
    private var missed: [String: UInt64] = [:]
    private var ring: OpaquePointer?
    private var arrived: [guard_event] = []
    private var watch: WatchToken?

    /// Loads the programs. Maps that an earlier run has pinned go on.
    init(object path: String) throws(KernelProblem) {
        // Without this, libbpf prints pages of the verifier's output.
        libbpf_set_print(nil)
        try Kernel.check()
        try KernelPins.make()
        let method = try KernelHook.Method.find()
        let hasCompatHook = KernelHook.compatIoctl.exists(method)
        (self.method, self.hasCompatHook) = (method, hasCompatHook)
        func load() throws(KernelProblem) -> OpaquePointer {
            try Kernel.load(path, method, hasCompatHook: hasCompatHook)
        }
        do throws(KernelProblem) { object = try load() } catch {
            // libbpf takes no maps of an earlier version that have another layout.
            guard error.standsAside, KernelPins.removeFiles() == nil else { throw error }
            object = try load()
        }
        let object = object
        func descriptor(_ name: String) -> Int32 { bpf_object__find_map_fd_by_name(object, name) }
        majors = KernelMap(descriptor: descriptor("majors"))
        nodes = KernelMap(descriptor: descriptor("nodes"))
        users = KernelMap(descriptor: descriptor("users"))
        subordinates = KernelMap(descriptor: descriptor("subordinates"))
        groups = KernelMap(descriptor: descriptor("groups"))
        verdicts = KernelMap(descriptor: descriptor("verdicts"))
        waits = WaitTables(KernelMap(descriptor: descriptor("waits")))
        reported = KernelMap(descriptor: descriptor("reported"))
        settings = KernelMap(descriptor: descriptor("settings"))
    }

    /// What is missing for certain is said, since the error of loading does not say it.
    private static func check() throws(KernelProblem) {
        var status = statfs()
        guard statfs(KernelPins.fileSystem, &status) == 0, Int(status.f_type) == CGUARD_BPF_FS else {
            throw KernelProblem("\(KernelPins.fileSystem) is not a BPF file system; mount it, as systemd does")
        }
        guard access("/sys/kernel/btf/vmlinux", R_OK) == 0 else {
            throw KernelProblem("this kernel has no BTF (CONFIG_DEBUG_INFO_BTF), so programs cannot be asked about")
        }
        let lockdown = (try? RegularFile.read("/sys/kernel/security/lockdown", maximum: 4096)) ?? []
        guard !String(decoding: lockdown, as: UTF8.self).contains("[confidentiality]") else {
            throw KernelProblem("this kernel is locked down to “confidentiality”, which forbids BPF programs")
        }
    }

    private static func load(
        _ path: String, _ method: KernelHook.Method, hasCompatHook: Bool
    ) throws(KernelProblem) -> OpaquePointer {
        guard let object = bpf_object__open_file(path, nil) else {
            throw KernelProblem("\(path) cannot be read: \(errorText()); reinstall permd-guard", standsAside: false)
        }
        for name in maps {
            bpf_map__set_pin_path(bpf_object__find_map_by_name(object, name), KernelPins.path(name))
        }
        func leaveOut(_ name: String) {
            bpf_program__set_autoload(bpf_object__find_program_by_name(object, name), false)
        }
        for hook in KernelHook.all { if let other = hook.other(method) { leaveOut(other) } }
        if !hasCompatHook { leaveOut(KernelHook.compatIoctl.program(method)) }
        let result = bpf_object__load(object)
        guard result == 0 else {
            bpf_object__close(object)
            throw KernelProblem("the kernel does not take the BPF programs", -result)
        }
        return object
    }

    // MARK: Attaching

    func attach() throws(KernelProblem) {
        for hook in [KernelHook.open, .socket, .signal, .exit] { try attach(hook) }
    }

    /// Whether cameras can be denied while they are open, and asked about when they are used. It costs every ioctl and
    /// mapping of the machine a moment, so this is so only while there is a camera.
    var isStreaming: Bool {
        get { links[KernelHook.ioctl.name] != nil }
        set { set([.ioctl, .mmap] + (hasCompatHook ? [.compatIoctl] : []), attached: newValue) }
    }

    /// Whether images are asked about that come by read(2). It costs every read of the machine a moment, so this is so only
    /// while there is a camera that gives them.
    var isReading: Bool {
        get { links[KernelHook.read.name] != nil }
        set { set([.read], attached: newValue) }
    }

    private func set(_ hooks: [KernelHook], attached: Bool) {
        for hook in hooks {
            attachProblems[hook.name] = nil
            guard attached else {
                detach(hook)
                continue
            }
            do throws(KernelProblem) { try attach(hook) } catch { attachProblems[hook.name] = error.message }
        }
    }

    /// The new program takes the place of an earlier run's, which goes on until then.
    private func attach(_ hook: KernelHook) throws(KernelProblem) {
        let name = hook.name
        guard links[name] == nil else { return }
        guard let link = bpf_program__attach(program(hook)) else {
            guard errno != Kernel.notSupported else {
                throw KernelProblem(
                    "this kernel lets no BPF program attach to its functions; that of arm64 does since Linux 6.4")
            }
            throw KernelProblem("the kernel does not let \(name) attach", errno)
        }
        // Whenever this program is killed, one of them is pinned.
        let next = KernelPins.path("next_\(name)")
        unlink(next)
        guard bpf_link__pin(link, next) == 0, rename(next, pin(name)) == 0 else {
            let problem = KernelProblem("\(pin(name)) cannot be made: \(errorText())", standsAside: false)
            bpf_link__destroy(link)
            throw problem
        }
        links[name] = link
    }

    private func detach(_ hook: KernelHook) {
        unlink(pin(hook.name))
        if let link = links.removeValue(forKey: hook.name) { bpf_link__destroy(link) }
    }

    private func program(_ hook: KernelHook) -> OpaquePointer? {
        bpf_object__find_program_by_name(object, hook.program(method))
    }

    private func pin(_ name: String) -> String { KernelPins.path("link_\(name)") }

    /// Says to which accounts subordinate users belong, in place of what was said before.
    func setSubordinates(_ owners: [UserPrefix: UInt32]) {
        for (prefix, owner) in owners { subordinates.set(prefix, owner) }
        for prefix in subordinates.keys where owners[prefix] == nil { subordinates.remove(prefix) }
    }

    /// Counts events against what the user and the control group may cause in this second.
    func charge(_ events: UInt32, to attempt: Attempt) {
        if var user = users[attempt.user] {
            user.rate.events += events
            users.set(attempt.user, user)
        }
        if var group = groups[attempt.group] {
            group.events += events
            groups.set(attempt.group, group)
        }
    }

    // MARK: Problems

    /// What keeps programs from being asked about, with what to do.
    var problems: [String] {
        noticeMissed()
        let passed = KernelHook.all.filter { (missed[$0.name] ?? 0) > 0 }
            .map { "the kernel has left out \($0.name) \(missed[$0.name] ?? 0) times; report this kernel to permd" }
        return attachProblems.sorted { $0.key < $1.key }.map(\.value) + passed
    }

    /// Asks how often the kernel has left out programs because they were running already (`recursion_misses`). Returns the
    /// hooks at which this has happened for the first time.
    @discardableResult
    func noticeMissed() -> [String] {
        var new: [String] = []
        for hook in KernelHook.all where links[hook.name] != nil {
            var info = bpf_prog_info()
            var size = UInt32(MemoryLayout<bpf_prog_info>.size)
            guard bpf_obj_get_info_by_fd(bpf_program__fd(program(hook)), &info, &size) == 0 else { continue }
            if info.recursion_misses > 0, missed[hook.name] == nil { new.append(hook.name) }
            if info.recursion_misses > 0 { missed[hook.name] = info.recursion_misses }
        }
        return new
    }

    // MARK: Events

    func startEvents() throws(KernelProblem) {
        // SAFETY: the ring is freed by nobody, and this object lives as long as the process.
        let context = Unmanaged.passUnretained(self).toOpaque()
        let ring = ring_buffer__new(
            bpf_object__find_map_fd_by_name(object, "events"), Kernel.received, context, nil)
        guard let ring else { throw KernelProblem("the events cannot be read: \(errorText())", standsAside: false) }
        self.ring = ring
        watch = Loop.shared.watch(unowned: ring_buffer__epoll_fd(ring), .readable) { [weak self] _ in self?.pump() }
        pump()
    }

    /// Called by ring_buffer__consume, which only `pump` calls.
    private static let received: ring_buffer_sample_fn = { context, data, size in
        guard let context, let data, size >= MemoryLayout<guard_event>.size else { return 0 }
        let event = data.load(as: guard_event.self)
        // SAFETY: the context is the object of startEvents(); this runs on the loop, within pump().
        let place = UInt(bitPattern: context)
        LoopActor.assumeIsolated {
            guard let context = UnsafeMutableRawPointer(bitPattern: place) else { return }
            Unmanaged<Kernel>.fromOpaque(context).takeUnretainedValue().arrived.append(event)
        }
        return 0
    }

    private func pump() {
        ring_buffer__consume(ring)
        let events = arrived
        arrived.removeAll(keepingCapacity: true)
        for event in events { onEvent?(event) }
        let missed = noticeMissed()
        if !missed.isEmpty { onMissed?(missed) }
    }
}

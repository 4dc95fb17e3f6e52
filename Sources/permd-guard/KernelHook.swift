// How this kernel lets BPF programs decide calls (bpf/guard.bpf.c).

import CGuard
import Glibc
import System

/// A place in the kernel at which a BPF program runs.
struct KernelHook {
    /// How a program decides at a hook.
    enum Method {
        /// As a security module. It always runs.
        case securityModule
        /// By modifying the result of a function (fmod_ret).
        case traced

        private static let list = "/sys/kernel/security/lsm"

        /// The method of this kernel. One that preempts itself leaves out a traced program that already runs on the
        /// processor, and what is left out passes.
        static func find() throws(KernelProblem) -> Method {
            let modules = String(decoding: (try? RegularFile.read(list, maximum: 4096)) ?? [], as: UTF8.self)
            if names(modules).contains("bpf") { return .securityModule }
            guard preemptsItself else { return .traced }
            throw KernelProblem(
                "this kernel has no “bpf” in its list of security modules (\(list)), without which one that preempts "
                    + "itself leaves programs out; add it to the kernel's parameter lsm=, after those that are there")
        }

        static func names(_ modules: String) -> [String] {
            modules.split(whereSeparator: { $0 == "," || $0 == "\n" }).map(String.init)
        }

        private static var preemptsItself: Bool {
            var name = utsname()
            guard uname(&name) == 0 else { return true }
            let version = withUnsafeBytes(of: name.version) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            let mode = (try? RegularFile.read("/sys/kernel/debug/sched/preempt", maximum: 4096)) ?? []
            return preempts(version: version, mode: String(decoding: mode, as: UTF8.self))
        }

        /// - Parameters:
        ///   - version: As uname(2) has it.
        ///   - mode: As debugfs has it, with the present one in parentheses; empty if it cannot be read.
        static func preempts(version: String, mode: String) -> Bool {
            guard version.contains("PREEMPT") else { return false }
            return !mode.contains("(none)") && !mode.contains("(voluntary)")
        }
    }

    let name: String
    /// The kernel's function; nil of a tracepoint, whose program decides nothing.
    let function: String?

    static let open = KernelHook(name: "guard_open", function: "file_open")
    static let ioctl = KernelHook(name: "guard_ioctl", function: "file_ioctl")
    /// Of 32-bit programs. Older kernels have no hook of its own for them.
    static let compatIoctl = KernelHook(name: "guard_ioctl_compat", function: "file_ioctl_compat")
    static let mmap = KernelHook(name: "guard_mmap", function: "mmap_file")
    static let read = KernelHook(name: "guard_read", function: "file_permission")
    static let socket = KernelHook(name: "guard_socket", function: "socket_create")
    static let signal = KernelHook(name: "guard_signal", function: nil)
    static let exit = KernelHook(name: "guard_exit", function: nil)
    static let all = [open, ioctl, compatIoctl, mmap, read, socket, signal, exit]

    /// The name of the program that is used.
    func program(_ method: Method) -> String { function != nil && method == .traced ? "\(name)_traced" : name }

    /// The name of the program that is not used, if there is one.
    func other(_ method: Method) -> String? {
        function == nil ? nil : program(method == .traced ? .securityModule : .traced)
    }

    /// Whether this kernel has the hook. Looking for it reads all of the kernel's types.
    func exists(_ method: Method) -> Bool {
        guard let function else { return true }
        switch method {
        case .securityModule: return libbpf_find_vmlinux_btf_id(function, BPF_LSM_MAC) > 0
        case .traced: return libbpf_find_vmlinux_btf_id("security_\(function)", BPF_MODIFY_RETURN) > 0
        }
    }
}

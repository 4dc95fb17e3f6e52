// What the guard reads of the system: subordinate users, drivers, and how the kernel runs BPF programs.

import CGuard
import Testing

@testable import permd_guard

struct KernelFactsTests {
    @Test func subordinateUsers() {
        let accounts = "root:x:0:0::/root:/bin/sh\nanna:x:1000:1000::/home/anna:/bin/sh\nanna:x:7:7::/:/bin/sh\nx\n"
        let owners = SubordinateUsers.owners(
            "anna:100000:65536\n1001:4294967295:9\nldap:8:8\nanna:16\n# x\nanna:0:0\nanna:-1:8\n", accounts: accounts)
        func owner(_ user: UInt32) -> UInt32? {
            let found = owners.filter { prefix, _ in
                let shift = 32 - prefix.length
                return shift == 32 || UInt32(bigEndian: prefix.user) >> shift == user >> shift
            }
            #expect(found.count <= 1)
            return found.first?.value
        }
        #expect([99_999, 100_000, 140_000, 165_535, 165_536].map(owner) == [nil, 1000, 1000, 1000, nil])
        #expect(
            [0, 7, 8, 15, 16, 4_294_967_294, 4_294_967_295].map(owner) == [
                nil, nil, GUARD_NOBODY, GUARD_NOBODY, nil, nil, 1001,
            ])
        #expect(SubordinateUsers.prefixes(from: 0, count: 4_294_967_295).count == 32)
    }

    @Test func driversOfCharacterDevices() {
        let text = "Character devices:\n  1 mem\n116 alsa\n237 gnss\n510 hidraw of x\n\nBlock devices:\n  8 sd\n"
        #expect(CharacterDevices.drivers(text) == [1: "mem", 116: "alsa", 237: "gnss", 510: "hidraw of x"])
        #expect(CharacterDevices.drivers()?.isEmpty == false)
        #expect(
            [233, 234, 254, 255, 383, 384, 511, 512].map(CharacterDevices.isDynamic) == [
                false, true, true, false, false, true, true, false,
            ])
    }

    @Test(arguments: [
        ("#1 SMP Debian 5.10", "", false), ("#1 SMP PREEMPT_DYNAMIC Debian", "none (voluntary) full\n", false),
        ("#1 SMP PREEMPT_DYNAMIC Debian", "none voluntary (full)\n", true),
        ("#1 SMP PREEMPT_DYNAMIC Debian", "none (voluntary) full lazy\n", false),
        ("#1 SMP PREEMPT_DYNAMIC Debian", "full (lazy)\n", true), ("#1 SMP PREEMPT_DYNAMIC Debian", "", true),
        ("#1 SMP PREEMPT_RT Debian", "", true),
    ])
    func aKernelThatPreemptsItself(_ version: String, _ mode: String, _ expected: Bool) {
        #expect(KernelHook.Method.preempts(version: version, mode: mode) == expected)
    }

    @Test func namesOfSecurityModules() {
        #expect(KernelHook.Method.names("lockdown,capability,apparmor,bpf\n").contains("bpf"))
        #expect(!KernelHook.Method.names("lockdown,bpfilter").contains("bpf"))
    }
}

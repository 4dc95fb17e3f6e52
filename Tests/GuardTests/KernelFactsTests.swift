// What the guard reads of the system: accounts, drivers, and how the kernel runs BPF programs.

import Testing

@testable import permd_guard

struct KernelFactsTests {
    @Test(arguments: [
        ("", 1000...60000), ("UID_MIN\t\t\t 500\n#UID_MIN 7\nUID_MAX 2000\n", 500...2000), ("UID_MIN 0", 1...60000),
        ("UID_MIN x\nUID_MAX", 1000...60000), ("UID_MIN 70000", 70000...70000), ("SYS_UID_MAX 9", 1000...60000),
    ])
    func accountsOfPeople(_ text: String, _ expected: ClosedRange<UInt32>) {
        #expect(LoginUsers.accounts(text) == expected)
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

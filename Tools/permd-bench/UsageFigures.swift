// How soon the use of a device is reported, and what it costs when a program opens a device without end.

import Foundation
import Synchronization

extension Bench {
    /// An open that ends within this time is a probe. It is left out of the figure.
    private static let probeTime = 500.0
    /// As many processes as a desktop has, each with as many descriptors as its programs have on average.
    private static let processes = 400
    private static let descriptorsEach = 20
    private static let opensPerSecond = 1000

    /// - Parameter mockDevices: The program that provides the camera.
    func measureUsage(mockDevices: String) throws {
        let camera = try MockCamera(mockDevices)
        defer { camera.remove() }
        try client.setEnvironment(camera.environment)
        try restartPermd()
        defer {
            try? client.end(Service.permd)
            try? client.setEnvironment(camera.environment.mapValues { _ in "" })
        }
        let crowd = try IdleProcesses(ownProgram, upTo: Bench.processes, descriptors: Bench.descriptorsEach)
        defer { crowd.end() }
        try client.call(Calls.usage("Subscribe"))
        try measureReporting(of: camera)
        try measureStorm(on: camera)
    }

    private func measureReporting(of camera: MockCamera) throws {
        let count = amount(20, quick: 3)
        say("from opening a camera to UseStarted, with \(Bench.processes) processes")
        var latencies = Latencies()
        for _ in 0..<count {
            let start = BenchClient.now()
            let node = try camera.open()
            try client.nextSignal("UseStarted")
            latencies.add(BenchClient.now() - start)
            close(node)
            try client.nextSignal("UseEnded")
        }
        for (name, percentile) in [("median", 50.0), ("p99", 99.0)] {
            report.add(
                Figure(
                    absolute: "open to UseStarted, \(Bench.processes) processes, \(name)", "ms",
                    latencies.percentile(percentile) / 1000 - Bench.probeTime, "", nil, .atMost(30)))
        }
    }

    private func measureStorm(on camera: MockCamera) throws {
        let seconds = Double(amount(10, quick: 2))
        say("a program opens and closes a camera \(Bench.opensPerSecond) times a second")
        let permd = try process(Service.permd)
        let idle = try p99(seconds: seconds) { Calls.status() }
        // Without calls, so that only the storm's own cost is counted.
        let before = try permd.processorTime()
        let alone = Storm(camera, Bench.opensPerSecond)
        let start = BenchClient.now()
        usleep(UInt32(seconds * 1e6))
        let used = try permd.processorTime() - before
        let lasted = Double(BenchClient.now() - start) / 1e9
        let rate = Double(alone.stop()) / lasted
        let storm = Storm(camera, Bench.opensPerSecond)
        let busy = try p99(seconds: seconds) { Calls.status() }
        _ = storm.stop()
        report.note("the camera was opened and closed \(number(rate)) times a second")
        report.add(
            Figure(absolute: "processor time in a storm of opens", "%", used / lasted * 100, "", nil, .atMost(20)))
        report.add(Figure("GetStatus p99 in a storm of opens", "µs", busy, "idle", idle, .atMost(2)))
    }
}

extension Calls {
    static func usage(_ member: String) -> BenchMessage {
        .call(Service.permd, "/org/permd", "org.permd.Usage1", member)
    }
}

extension ProcessLook {
    /// User and system time in seconds.
    func processorTime() throws -> Double {
        let text = try String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8)
        let fields = text[(text.lastIndex(of: ")") ?? text.startIndex)...].split(separator: " ")
        guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
            throw BenchFailure("the stat file of process \(pid) has no times")
        }
        return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
    }
}

/// A camera that `permd-mockdevices` provides. Its node leads to a pseudo-terminal, so that it can be opened.
final class MockCamera {
    let environment: [String: String]
    private let tool = Process()
    private let (input, output) = (Pipe(), Pipe())
    private let leader: Int32
    private let path: String
    /// The ioctls behind unlockpt(3) and ptsname(3), which Swift's Glibc module lacks.
    private static let (unlock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)

    init(_ program: String) throws {
        leader = Glibc.open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        var (isLocked, terminal): (Int32, UInt32) = (0, 0)
        guard ioctl(leader, MockCamera.unlock, &isLocked) == 0, ioctl(leader, MockCamera.getNumber, &terminal) == 0
        else {
            throw BenchFailure("no pseudo-terminal can be created")
        }
        path = "/dev/pts/\(terminal)"
        tool.executableURL = URL(filePath: program)
        tool.standardInput = input
        tool.standardOutput = output
        try tool.run()
        let greeting = MockCamera.line(of: output)
        guard greeting.hasPrefix("ROOT ") else { throw BenchFailure("permd-mockdevices: \(greeting)") }
        environment = ["UMOCKDEV_DIR": String(greeting.dropFirst(5)), "LD_PRELOAD": "libumockdev-preload.so.0"]
        var status = stat()
        stat(path, &status)
        let number = "\(status.st_rdev >> 8 & 0xFFF):\(status.st_rdev & 0xFF)"
        input.fileHandleForWriting.write(Data("link camera 0 \(number) \(path)\n".utf8))
        let answer = MockCamera.line(of: output)
        guard answer.hasPrefix("OK") else { throw BenchFailure("permd-mockdevices: \(answer)") }
    }

    private static func line(of pipe: Pipe) -> String {
        var bytes: [UInt8] = []
        while let byte = try? pipe.fileHandleForReading.read(upToCount: 1)?.first, byte != UInt8(ascii: "\n") {
            bytes.append(byte)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    func open() throws -> Int32 {
        let fd = Glibc.open(path, O_RDWR | O_NOCTTY | O_CLOEXEC)
        guard fd >= 0 else { throw BenchFailure("the camera cannot be opened") }
        return fd
    }

    func remove() {
        try? input.fileHandleForWriting.close()
        tool.waitUntilExit()
        close(leader)
    }
}

/// A thread that opens and closes a camera.
private final class Storm: Sendable {
    private let isOver = Atomic<Bool>(false)
    private let count = Atomic<Int>(0)
    private let ended = DispatchSemaphore(value: 0)

    init(_ camera: MockCamera, _ perSecond: Int) {
        let pause = 1_000_000_000 / UInt64(perSecond)
        let open = { try? camera.open() }
        nonisolated(unsafe) let next = open
        // SAFETY: `open` only reads the camera's path, which never changes.
        Thread.detachNewThread { [self] in
            var due = BenchClient.now()
            while !isOver.load(ordering: .relaxed) {
                if let node = next() { close(node) }
                count.add(1, ordering: .relaxed)
                due += pause
                let now = BenchClient.now()
                if due > now { usleep(UInt32((due - now) / 1000)) }
            }
            ended.signal()
        }
    }

    /// Returns how often the camera was opened.
    func stop() -> Int {
        isOver.store(true, ordering: .relaxed)
        ended.wait()
        return count.load(ordering: .relaxed)
    }
}

/// Processes that have descriptors and do nothing.
private final class IdleProcesses {
    private var children: [Process] = []

    init(_ program: String, upTo total: Int, descriptors: Int) throws {
        let present = try FileManager.default.contentsOfDirectory(atPath: "/proc").filter { Int($0) != nil }.count
        for _ in present..<max(total, present) {
            let child = Process()
            child.executableURL = URL(filePath: program)
            child.arguments = ["idle", String(descriptors)]
            try child.run()
            children.append(child)
        }
    }

    func end() {
        for child in children { child.terminate() }
        for child in children { child.waitUntilExit() }
    }
}

// An unmodified program that records, and what it gets: the tone, or nothing.

import DBus
import Foundation
import PermissionModel
import PermissionTestKit

@LoopActor
final class Recorder {
    enum Kind: CaseIterable {
        /// A client of the PulseAudio socket.
        case pulse
        /// A client of PipeWire.
        case native
    }

    /// The app that permd identifies it as.
    let app: AppID
    /// Whether each 1024 samples contain anything but zeros.
    let chunks = EventLog<Bool>()
    private let process: ChildProcess
    private var pid: Int32 = 0

    /// - Parameters:
    ///   - name: Names of programs, which are different apps.
    ///   - sandbox: The sandbox to run it in.
    init(_ kind: Kind, _ name: String, on server: SoundServer, through sandbox: FlatpakSandbox? = nil) async throws {
        let program = server.folder.file(name)
        let original = kind == .pulse ? "/usr/bin/pacat" : "/usr/bin/pw-cat"
        if !FileManager.default.fileExists(atPath: program) {
            let copy = try ChildProcess("cp", [original, program])
            guard await copy.waitForExit() == .exited(0) else { throw TestKitError("cannot copy \(original)") }
        }
        app = sandbox?.app ?? AppID.executable(program.utf8)
        let file = server.folder.file("\(name)-\(UInt32.random(in: 0...UInt32.max))")
        let words =
            kind == .pulse
            ? [program, "--record", "--raw", "--format=s16le", "--channels=1", "--latency-msec=50"]
            : [program, "--record", "--format", "s16", "--channels", "1"]
        process = try ChildProcess(
            "sh", ["-c", Recorder.script, "sh", file, kind == .pulse ? "1" : "45"] + (sandbox?.command ?? []) + words,
            environment: server.environment.merging(sandbox?.environment ?? [:]) { $1 }, standardError: .null)
        Task { [weak self, chunks, lines = process.lines] in
            for await line in lines {
                if line.hasPrefix("pid ") {
                    self?.pid = Int32(line.dropFirst(4)) ?? 0
                } else {
                    chunks.add(line.split(separator: " ").contains { $0 != "0" })
                }
            }
        }
    }

    /// Prints the samples of the growing file as numbers, without its header.
    private static let script = """
        file=$1 first=$2
        shift 2
        : >"$file"
        "$@" "$file" &
        echo "pid $!"
        tail --pid=$! --bytes=+"$first" --follow "$file" | stdbuf -oL od -An -v -td2 -w2048
        """

    /// How many chunks had the tone.
    var tones: Int { chunks.all.count { $0 } }

    /// Waits until it has got the tone for that many chunks more.
    func hears(_ more: Int = 10) async throws {
        let before = tones
        try await until("the tone") { $0.count { $0 } >= before + more }
    }

    /// Waits until it has got that many chunks of silence more.
    func isSilent(_ more: Int = 10) async throws {
        let before = chunks.all.count - tones
        try await until("silence") { $0.count { !$0 } >= before + more }
    }

    private func until(_ what: String, _ fits: @escaping @LoopActor ([Bool]) -> Bool) async throws {
        try await chunks.first(what) { [chunks] _ in fits(chunks.all) }
    }

    func end() async {
        if pid > 0 { kill(pid, SIGTERM) }
        _ = await process.waitForExit()
    }

    var isRunning: Bool { process.isRunning }
}

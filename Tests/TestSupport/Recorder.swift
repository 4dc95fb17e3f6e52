// An unmodified program that records, and what it gets: the tone or the picture, silence, or nothing.

package import DBus
import Glibc
package import PermissionModel
package import PermissionTestKit

/// A program that records from a ``SoundServer``.
@LoopActor
package final class Recorder {
    package enum Kind: String, CaseIterable, Sendable {
        /// A client of the PulseAudio socket: parecord, which is pacat.
        case pulse
        /// A client of PipeWire: pw-record, which is pw-cat.
        case native
        /// arecord, whose ALSA plugin is a client of PipeWire.
        case alsa
        /// GStreamer's pipewiresrc, which records from the camera.
        case camera

        /// Those that record from the microphone.
        package static var sounds: [Kind] { [.pulse, .native, .alsa] }

        package var permission: Permission { self == .camera ? .camera : .microphone }

        fileprivate var program: String {
            switch self {
            case .pulse: "/usr/bin/pacat"
            case .native: "/usr/bin/pw-cat"
            case .alsa: "/usr/bin/arecord"
            case .camera: "/usr/bin/gst-launch-1.0"
            }
        }

        fileprivate var arguments: [String] {
            switch self {
            case .pulse: ["--record", "--raw", "--format=s16le", "--channels=1", "--latency-msec=50"]
            case .native: ["--record", "--format", "s16", "--channels", "1"]
            case .alsa: ["-q", "-D", "pipewire", "-f", "S16_LE", "-r", "48000", "-c", "1", "-t", "raw"]
            // On a busy machine, pipewiresrc may wait for ever for an image that it has passed on.
            case .camera:
                [
                    "-v", "pipewiresrc", "always-copy=true", "!", "video/x-raw", "!", "fakesink", "silent=false",
                    "sync=false",
                ]
            }
        }
    }

    /// The app that permd identifies it as.
    package let app: AppID
    /// An event for each 1024 samples that contain anything but zeros, and for each picture.
    private let sounding = EventLog<Void>()
    /// An event for each 1024 zeros.
    private let silent = EventLog<Void>()
    /// What the program wrote to standard error.
    package let errors = EventLog<String>()
    private let process: ChildProcess
    /// The process ID by which the program knows itself; 0 until it runs.
    package private(set) var pid: Int32 = 0
    private let isPidOurs: Bool
    private let server: SoundServer

    /// - Parameters:
    ///   - name: Names of programs, which are different apps.
    ///   - sandbox: The sandbox to run it in.
    ///   - options: More options of the program.
    package init(
        _ kind: Kind, _ name: String, on server: SoundServer, through sandbox: FlatpakSandbox? = nil,
        options: [String] = []
    ) async throws {
        let program = Recorder.path(kind, name, on: server)
        if access(program, F_OK) != 0 {
            let command = "mkdir -p \"${1%/*}\" && cp \"$0\" \"$1\""
            let copy = try ChildProcess("sh", ["-c", command, kind.program, program])
            guard await copy.waitForExit() == .exited(0) else { throw TestKitError("cannot copy \(kind.program)") }
        }
        app = sandbox?.app ?? Recorder.app(kind, name, on: server)
        self.server = server
        isPidOurs = sandbox?.isolation.contains(.processes) != true
        let file = server.folder.file("\(name)-\(UInt32.random(in: 0...UInt32.max))")
        let script = kind == .camera ? Recorder.pictures : Recorder.samples
        let command = (sandbox?.command ?? []) + ["sh", "-c", Recorder.named, "sh", program] + kind.arguments + options
        process = try ChildProcess(
            "sh", ["-c", script, "sh", file, kind == .native ? "44" : "0"] + command,
            environment: server.environment.merging(sandbox?.environment ?? [:]) { $1 }, standardError: .pipe)
        Task { [errors, lines = process.errorLines] in
            for await line in lines { errors.add(line) }
        }
        Task { [weak self, sounding, silent, lines = process.lines] in
            for await line in lines {
                if line.hasPrefix("pid ") {
                    self?.pid = Int32(line.dropFirst(4)) ?? 0
                } else {
                    (line == "0" ? silent : sounding).add(())
                }
            }
        }
    }

    /// The programs check their own names.
    private static func path(_ kind: Kind, _ name: String, on server: SoundServer) -> String {
        server.folder.file("\(name)-apps/\(kind.program.split(separator: "/").last!)")
    }

    /// The app of the recorders with this kind and name.
    package static func app(_ kind: Kind, _ name: String, on server: SoundServer) -> AppID {
        AppID.executable(path(kind, name, on: server).utf8)
    }

    /// Tells the program's process ID. The sandbox's own first process may not pass signals on, and not keep the
    /// variables of stdbuf.
    private static let named = "echo \"pid $$\" && exec stdbuf -oL \"$@\""

    /// Prints 0 for each 1024 zeros of the growing file after its header, and 1 for each 1024 other samples. The header is
    /// not left to tail, to which a file that is shorter than what is left out looks truncated.
    private static let samples = """
        file=$1 header=$2
        shift 2
        : >"$file"
        "$@" "$file" &
        tail --sleep-interval=0.1 --pid=$! --bytes=+1 --follow=name --retry "$file" 2>/dev/null |
            stdbuf -oL od -An -v -td2 -w2048 -j"$header" 2>/dev/null |
            stdbuf -oL sed -E 's/^[ 0]+$/0/; t; s/.*/1/'
        """

    /// Prints a line for each picture.
    private static let pictures = """
        shift 2
        "$@" | grep --line-buffered -e "^pid " -e "chain "
        """

    /// How many chunks had the tone.
    package var tones: Int { sounding.all.count }

    /// How many it has got, with the tone or without.
    package var chunks: Int { sounding.all.count + silent.all.count }

    /// Waits until it has got the tone for that many chunks more.
    package func hears(_ more: Int = 10) async throws { try await wait(for: more, sounding) }

    /// Waits until it has got that many chunks of silence more.
    package func isSilent(_ more: Int = 10) async throws { try await wait(for: more, silent) }

    /// Waits until it gets the tone no more, although another recorder gets that many chunks of it. What was recorded before
    /// may arrive late.
    package func getsNoMore(beside other: Recorder, _ more: Int = 40) async throws {
        var before: Int
        repeat {
            before = tones
            try await other.hears(more)
        } while tones != before
    }

    private func wait(for more: Int, _ chunks: EventLog<Void>) async throws {
        do throws(TestKitError) { try await chunks.wait(for: chunks.all.count + more) } catch {
            let state = try await server.run(
                "timeout 10 pw-link --links 2>&1; timeout 10 pw-dump | grep -E '\"(node.name|state|error)\":'")
            throw TestKitError(
                """
                \(app), which \(isRunning ? "runs" : "has exited"), got \(tones) chunks with the tone and \
                \(silent.all.count) without, and not the \(more) \(chunks === sounding ? "with" : "without") it that \
                were expected. Its errors: \(errors.all). permd-pipewire: \(server.log.all). Links and nodes:
                \(state)
                """)
        }
    }

    package func end() async {
        // The program may not have been started yet.
        if pid > 0, isPidOurs { kill(pid, SIGTERM) } else { process.terminate(SIGKILL) }
        _ = await process.waitForExit()
    }

    package var isRunning: Bool { process.isRunning }
}

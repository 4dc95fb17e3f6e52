// Many streams of one client, in a second test program: they need more descriptors than one process should take from the
// tests beside it.

import CPipeWire
import DBus
import Glibc
import PermissionTestKit
import TestSupport

/// A client of PipeWire with streams that want to record. They do not ask the session manager to link them, which takes
/// WirePlumber a minute for a thousand.
enum StreamFlood {
    private static let variable = "PERMD_STREAM_FLOOD"

    /// Whether this is the second program.
    static var isThisProcess: Bool { getenv(variable) != nil }

    /// Starts this program again, which runs the test of that name.
    @LoopActor
    static func start(_ test: String, on server: SoundServer) throws -> ChildProcess {
        let again = [BuiltProgram.own, "--testing-library", "swift-testing", "--filter", test]
        return try ChildProcess(
            "sh", ["-c", SoundServer.manyDescriptors, "sh"] + again,
            environment: server.environment.merging([variable: "1"]) { $1 }, standardOutput: .null)
    }

    /// How many streams are made before PipeWire's answers are read. For a client that does not read, PipeWire 1.4 keeps
    /// 1024 descriptors at most, of which each stream needs some; then it drops the client.
    private static let together = 50

    /// Connects and makes the streams, which last until the process is killed.
    static func run(_ count: Int) throws {
        pw_init(nil, nil)
        guard let loop = pw_thread_loop_new(nil, nil),
            let context = pw_context_new(pw_thread_loop_get_loop(loop), nil, 0),
            let core = pw_context_connect(context, nil, 0), pw_thread_loop_start(loop) == 0
        else { throw TestKitError("cannot connect to PipeWire") }
        // They last as long as the process.
        let events = UnsafeMutablePointer<pw_stream_events>.allocate(capacity: 1)
        let hooks = UnsafeMutablePointer<spa_hook>.allocate(capacity: count)
        hooks.initialize(repeating: spa_hook(), count: count)
        events.initialize(to: pw_stream_events())
        events.pointee.version = UInt32(PW_VERSION_STREAM_EVENTS)
        events.pointee.state_changed = { loop, _, _, _ in pw_thread_loop_signal(OpaquePointer(loop), false) }
        for number in 1...count {
            pw_thread_loop_lock(loop)
            let properties = pw_properties_new_string("media.type = Audio media.category = Capture")
            guard let stream = pw_stream_new(core, "flood", properties) else { throw TestKitError("no stream") }
            pw_stream_add_listener(stream, hooks + number - 1, events, UnsafeMutableRawPointer(loop))
            guard pw_stream_connect(stream, SPA_DIRECTION_INPUT, .max, PW_STREAM_FLAG_MAP_BUFFERS, nil, 0) == 0
            else { throw TestKitError("cannot connect a stream") }
            while number % together == 0, try isConnecting(stream) { pw_thread_loop_wait(loop) }
            pw_thread_loop_unlock(loop)
        }
        while true { pause() }
    }

    private static func isConnecting(_ stream: OpaquePointer) throws -> Bool {
        let state = pw_stream_get_state(stream, nil)
        guard state != PW_STREAM_STATE_ERROR else { throw TestKitError("PipeWire dropped a stream") }
        return state == PW_STREAM_STATE_CONNECTING
    }
}

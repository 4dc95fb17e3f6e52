// Many streams of one client, which is this process.

import CPipeWire
import PermissionTestKit

/// A client of PipeWire with streams that want to record. They do not ask the session manager to link them, which takes
/// WirePlumber a minute for a thousand.
final class StreamFlood {
    // SAFETY: used by libpipewire's thread and, under its lock, by the thread that makes and ends this.
    private let loop: OpaquePointer
    private let context: OpaquePointer
    private let streams: [OpaquePointer]

    /// - Parameter runtime: The folder with the server's socket.
    init(_ count: Int, runtime: String) throws {
        pw_init(nil, nil)
        guard let loop = pw_thread_loop_new("streams", nil) else { throw TestKitError("no thread for PipeWire") }
        pw_thread_loop_start(loop)
        pw_thread_loop_lock(loop)
        defer { pw_thread_loop_unlock(loop) }
        guard let context = pw_context_new(pw_thread_loop_get_loop(loop), nil, 0),
            let core = pw_context_connect(
                context, pw_properties_new_string("remote.name = \"\(runtime)/pipewire-0\""), 0)
        else { throw TestKitError("cannot connect to PipeWire") }
        (self.loop, self.context) = (loop, context)
        streams = try (0..<count).map { _ in
            let properties = pw_properties_new_string("media.type = Audio media.category = Capture")
            guard let stream = pw_stream_new(core, "flood", properties),
                pw_stream_connect(stream, SPA_DIRECTION_INPUT, .max, PW_STREAM_FLAG_MAP_BUFFERS, nil, 0) == 0
            else { throw TestKitError("cannot make a stream") }
            return stream
        }
    }

    func end() {
        pw_thread_loop_stop(loop)
        for stream in streams { pw_stream_destroy(stream) }
        pw_context_destroy(context)
        pw_thread_loop_destroy(loop)
    }
}

// Closures as handlers of GTK's signals, and the way from other threads to GTK's.

import CAdwaita
import PermissionClient

typealias Widget = UnsafeMutablePointer<GtkWidget>

/// A closure that C code holds until it releases it. What signals without an argument pass is ignored.
private final class Handler: Sendable {
    let body: @MainActor (Int) -> Void
    init(_ body: @escaping @MainActor (Int) -> Void) { self.body = body }

    /// For `cadw_connect` and its variants, which call it when the handler is removed.
    static let release: @convention(c) (UnsafeMutableRawPointer?) -> Void = { context in
        if let context { Unmanaged<Handler>.fromOpaque(context).release() }
    }
}

extension UnsafeMutablePointer {
    /// Runs the closure when the object emits the signal, until the object is destroyed.
    @MainActor func on(_ signal: String, _ body: @escaping @MainActor () -> Void) {
        connect(UnsafeMutableRawPointer(self), signal, body)
    }
}

extension OpaquePointer {
    @MainActor func on(_ signal: String, _ body: @escaping @MainActor () -> Void) {
        connect(UnsafeMutableRawPointer(self), signal, body)
    }
}

@MainActor private func connect(
    _ object: UnsafeMutableRawPointer, _ signal: String, _ body: @escaping @MainActor () -> Void
) {
    cadw_connect(
        object, signal,
        { context in
            guard let context else { return }
            let handler = Unmanaged<Handler>.fromOpaque(context).takeUnretainedValue()
            MainActor.assumeIsolated { handler.body(0) }
        }, Unmanaged.passRetained(Handler { _ in body() }).toOpaque(), Handler.release)
}

/// Runs the closure with the position of the row when a row of the list view is activated.
@MainActor func onActivate(_ view: Widget, _ body: @escaping @MainActor (Int) -> Void) {
    cadw_connect_position(
        view, "activate",
        { _, position, context in
            guard let context else { return }
            let handler = Unmanaged<Handler>.fromOpaque(context).takeUnretainedValue()
            MainActor.assumeIsolated { handler.body(Int(position)) }
        }, Unmanaged.passRetained(Handler(body)).toOpaque(), Handler.release)
}

/// Runs the closure on GTK's thread, in order with other closures. May be called on any thread.
func onGtk(_ body: @escaping @MainActor () -> Void) {
    g_idle_add_full(
        G_PRIORITY_DEFAULT,
        { context in
            guard let context else { return 0 }
            let handler = Unmanaged<Handler>.fromOpaque(context).takeRetainedValue()
            MainActor.assumeIsolated { handler.body(0) }
            return 0
        }, Unmanaged.passRetained(Handler { _ in body() }).toOpaque(), nil)
}

/// Does the work on another thread, and then continues with its result on GTK's.
func inBackground<Value: Sendable>(
    _ work: @escaping @Sendable () async throws(ClientError) -> Value,
    then next: @escaping @MainActor (Result<Value, ClientError>) -> Void
) {
    // Not a Task of the main actor: GTK's main loop runs on that thread and no Swift executor.
    Task.detached {
        let result: Result<Value, ClientError>
        do throws(ClientError) { result = .success(try await work()) } catch { result = .failure(error) }
        onGtk { next(result) }
    }
}

// The global actor of everything that happens on the loop.

/// Isolates to the one thread of ``Loop/shared``: calls between isolated types are plain calls.
@globalActor
public actor LoopActor {
    public static let shared = LoopActor()

    public nonisolated var unownedExecutor: UnownedSerialExecutor { Loop.shared.asUnownedSerialExecutor() }

    /// Runs `body` as isolated, from a place that is on the loop's thread but not known to be (a C callback, `main`).
    /// Traps on any other thread.
    public nonisolated static func assumeIsolated<T: Sendable>(
        _ body: @LoopActor () throws -> T
    ) rethrows -> T {
        Loop.shared.checkIsolated()
        return try withoutActuallyEscaping(body) { body in
            // SAFETY: the isolation is part of the function's type only; checkIsolated has shown that it holds.
            try unsafeBitCast(body, to: (() throws -> T).self)()
        }
    }
}

// The global actor for everything that runs on the loop.

/// Isolates to the single thread of ``Loop/shared``, so calls between isolated types are plain calls.
@globalActor
public actor LoopActor {
    public static let shared = LoopActor()

    public nonisolated var unownedExecutor: UnownedSerialExecutor { Loop.shared.asUnownedSerialExecutor() }

    /// Runs `body` as isolated, from code that runs on the loop's thread without static isolation (a C callback,
    /// `main`). Traps on any other thread.
    public nonisolated static func assumeIsolated<T: Sendable>(
        _ body: @LoopActor () throws -> T
    ) rethrows -> T {
        Loop.shared.checkIsolated()
        return try withoutActuallyEscaping(body) { body in
            // SAFETY: isolation is only part of the function's type; checkIsolated has verified that it holds.
            try unsafeBitCast(body, to: (() throws -> T).self)()
        }
    }
}

/// Runs asynchronous work on the loop's thread alone: without the preference, calls of nonisolated functions would start
/// a pool of threads.
@LoopActor
package func onLoop(_ body: @escaping @LoopActor @Sendable () async -> Void) {
    Task(executorPreference: Loop.shared) { await body() }
}

// The one way to wait for what tells nobody of its changes, such as a state in /proc, or what another bus shows.

import PermissionTestKit

/// Looks again and again until it is as wanted.
///
/// - Parameters:
///   - what: What the error says was waited for.
///   - pause: The time between two looks, longer if a look is costly.
/// - Throws: ``TestKitError`` after 45 seconds.
package func waitUntil(
    _ what: String, pause: Duration = .milliseconds(25), isolation: isolated (any Actor)? = #isolation,
    _ isTrue: () async throws -> Bool
) async throws {
    let end = ContinuousClock.now + .seconds(45)
    while try await !isTrue() {
        guard ContinuousClock.now < end else { throw TestKitError("timed out waiting for \(what)") }
        try await Task.sleep(for: pause)
    }
}

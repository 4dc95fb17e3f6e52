// The one way to wait for what tells nobody of its changes, such as a state in /proc, or what another bus shows.

import DBus
import PermissionTestKit

/// Looks again and again until it is as wanted.
///
/// - Parameter what: What the error says was waited for.
/// - Throws: ``TestKitError`` after 45 seconds.
@LoopActor
package func waitUntil(_ what: String, _ isTrue: () async throws -> Bool) async throws {
    let end = Loop.uptimeMilliseconds() + 45_000
    while try await !isTrue() {
        guard Loop.uptimeMilliseconds() < end else { throw TestKitError("timed out waiting for \(what)") }
        await withCheckedContinuation { done in Loop.shared.after(milliseconds: 25) { done.resume() } }
    }
}

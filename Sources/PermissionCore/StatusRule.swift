// The status of (app, permission): the first condition that applies, in the order of the contract.

package import PermissionModel

/// Devices are checked only after the refusals, so that a refused app learns nothing about them.
///
/// - Parameter isOff: Whether a person has switched the permission off for every app.
package func status(
    restricted: Bool, isOff: Bool, decision: Verdict?, allowedByRule: Bool, isUsable: @autoclosure () -> Bool
) -> Status {
    if restricted { return .restricted }
    if isOff || decision == .deny { return .denied }
    if !isUsable() { return .unavailable }
    if decision == .grant || allowedByRule { return .granted }
    return .undetermined
}

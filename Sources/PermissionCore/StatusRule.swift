// What (app, permission) comes to: the contract's order, the first that applies.

public import PermissionModel

/// A refused app learns nothing about devices: they are looked at only behind the refusals.
public func status(
    restricted: Bool, decision: Verdict?, allowedByRule: Bool, isUsable: @autoclosure () -> Bool
) -> Status {
    if restricted { return .restricted }
    if decision == .deny { return .denied }
    if !isUsable() { return .unavailable }
    if decision == .grant || allowedByRule { return .granted }
    return .undetermined
}

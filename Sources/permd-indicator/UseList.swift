// What is in use now: permd's uses, and what was decided about them since they began.

import PermissionClient

/// A permission that an app uses; without an app for programs that cannot be identified.
struct UsedPermission: Sendable, Hashable {
    let app: AppID?
    let permission: Permission
}

/// All uses of a permission by an app, on whatever devices.
struct UseGroup: Sendable, Hashable {
    let used: UsedPermission
    /// Safe to show; empty if it is not known.
    let name: String
    /// The app's status now, as far as it can be known.
    let status: Status
    /// Whether a refusal ends all of them. Otherwise the app holds a device itself.
    let isCut: Bool
    /// The latest of its uses.
    let newest: UInt32

    /// Whether it is used without a grant. Without a device there is nothing to be used, so `unavailable` says nothing.
    var isUngranted: Bool { [.denied, .restricted, .undetermined].contains(status) }

    func with(_ status: Status) -> UseGroup {
        UseGroup(used: used, name: name, status: status, isCut: isCut, newest: newest)
    }

    /// Whether a refusal would change anything, and whom it would be about.
    var canBeStopped: Bool { used.app != nil && status != .denied && status != .restricted }
}

struct UseList: Sendable {
    /// In the order of their importance to a person, which is that of the icons.
    static let order: [Permission] = {
        let first: [Permission] = [.camera, .microphone, .location]
        return first + Permission.allCases.filter { !first.contains($0) }
    }()

    private var uses: [UseRow] = []
    /// The statuses that have changed since the uses began: permd lists those of that time.
    private var changed: [UsedPermission: Status] = [:]

    mutating func replace(_ rows: [UseRow]) {
        uses = rows
        prune()
    }

    mutating func started(_ use: UseRow) {
        guard !uses.contains(where: { $0.use == use.use }) else { return }
        uses.append(use)
        // The status of the newest use is newer than what was decided before.
        changed[use.used] = nil
    }

    mutating func ended(_ number: UInt32) {
        uses.removeAll { $0.use == number }
        prune()
    }

    func contains(_ used: UsedPermission) -> Bool { uses.contains { $0.used == used } }

    /// A decision has changed the status.
    mutating func changed(_ used: UsedPermission, _ status: Status) {
        if contains(used) { changed[used] = status }
    }

    private mutating func prune() {
        let left = Set(uses.map(\.used))
        changed = changed.filter { left.contains($0.key) }
    }

    /// Sorted by permission, then by the begin of the oldest use.
    var groups: [UseGroup] {
        var found: [UsedPermission: [UseRow]] = [:]
        var keys: [UsedPermission] = []
        for use in uses.sorted(by: { ($0.since, $0.use) < ($1.since, $1.use) }) {
            if found[use.used] == nil { keys.append(use.used) }
            found[use.used, default: []].append(use)
        }
        let sorted = UseList.order.flatMap { permission in keys.filter { $0.permission == permission } }
        return sorted.compactMap { used in found[used].flatMap { group(used, $0) } }
    }

    private func group(_ used: UsedPermission, _ uses: [UseRow]) -> UseGroup? {
        guard let newest = uses.max(by: { $0.use < $1.use }) else { return nil }
        return UseGroup(
            used: used, name: SafeText.title(newest.appName),
            status: changed[used] ?? newest.status,
            isCut: uses.allSatisfy(\.isCut), newest: newest.use)
    }
}

extension UseRow {
    fileprivate var used: UsedPermission { UsedPermission(app: app, permission: permission) }
}

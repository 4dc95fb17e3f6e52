// What is notified where the panel shows no items: apps that use a device without a grant, and new grants for ever.

import DBus
import DesktopServices
import Glibc
import PermissionClient
import PermissionTexts

/// A permission that a person has just granted for ever.
struct NewGrant: Sendable, Hashable {
    let used: UsedPermission
    let decided: EpochSeconds
}

@LoopActor
final class UseNotifications {
    /// Seconds for which an answer counts as new: enough for the start of this program on a busy machine.
    private static let newness: EpochSeconds = 10
    /// Seconds in which permd makes one row of several in the history, with the time of the first.
    private static let foldSeconds: EpochSeconds = 60
    /// The newest rows of the history among which new grants are looked for. A person does not answer more in that time.
    private static let recentRows = 16
    /// Milliseconds for which Undo is offered.
    private static let undoTime: Int64 = 120_000
    /// Milliseconds for which it is offered to give back what nobody used: a person may look later.
    private static let giveBackTime: Int64 = 600_000
    /// Milliseconds between two notifications about the same app and permission: an app that opens a device again and
    /// again is not reported each time.
    private static let interval: Int64 = 60_000
    /// Notifications in ``interval`` about all apps; further ones are not shown.
    private static let mostInInterval = 6

    private let server: UseServer
    private let settings: PermissionSettings
    /// Called when ``isWaiting`` may have become false, and when something may be shown that had to wait.
    var onIdle: @LoopActor () -> Void = {}
    /// The uses that were shown in notifications or need none: the newest of each.
    private var reported: [UsedPermission: UInt32] = [:]
    /// The uses without a grant that were seen before it was known whether the panel shows them.
    private var remembered: [UsedPermission: UseGroup] = [:]
    /// The uses without a grant that have a notification now.
    private var open: [UsedPermission: UseGroup] = [:]
    private var undoable: [UsedPermission: LoopTimer] = [:]
    private var announced: Set<NewGrant> = []
    /// What is offered to be given back.
    private var takenBack: [UsedPermission] = []
    private var takenBackEnd: LoopTimer?
    private var isAskingForTakenBack = false
    /// Whether notifications are shown at all, or the panel's item instead.
    private var isActive = false
    private var times: [(key: NotificationKey, time: Int64)] = []
    private var retry: LoopTimer?

    init(_ server: UseServer, _ settings: PermissionSettings) {
        self.server = server
        self.settings = settings
        server.onClosed = { [unowned self] in closed($0) }
    }

    /// Whether a person can still undo something.
    var isWaiting: Bool { !undoable.isEmpty || takenBackEnd != nil }

    private func closed(_ key: NotificationKey) {
        switch key {
        case .use(let used): open[used] = nil
        case .grant(let used): endUndo(used)
        case .takenBack: endTakenBack()
        case .failure: break
        }
    }

    /// Returns whether one more notification may be shown, and counts it. If not, ``onIdle`` is called when it may.
    private func mayShow(_ key: NotificationKey) -> Bool {
        let now = Loop.uptimeMilliseconds()
        times.removeAll { $0.time <= now - UseNotifications.interval }
        guard times.count < UseNotifications.mostInInterval, !times.contains(where: { $0.key == key }) else {
            if retry == nil, let first = times.first {
                retry = Loop.shared.after(milliseconds: first.time + UseNotifications.interval - now) { [weak self] in
                    self?.retry = nil
                    self?.onIdle()
                }
            }
            return false
        }
        times.append((key, now))
        return true
    }

    // MARK: Uses

    /// The panel shows everything.
    func leave() {
        isActive = false
        reported = [:]
        remembered = [:]
        for used in open.keys { server.close(.use(used)) }
        open = [:]
    }

    /// It is not known yet whether the panel shows them. A use that is over by then is reported all the same.
    func remember(_ groups: [UseGroup]) {
        for group in groups where group.isUngranted { remembered[group.used] = group }
    }

    func show(_ groups: [UseGroup]) {
        if !isActive {
            isActive = true
            onLoop { [self] in await announceGrants() }
        }
        let now = Dictionary(uniqueKeysWithValues: groups.map { ($0.used, $0) })
        for (used, group) in open {
            guard let current = now[used] else {
                open[used] = nil
                server.show(UseTexts.over(group), .use(used))
                continue
            }
            guard current.status != group.status || current.isCut != group.isCut else { continue }
            if current.isUngranted {
                open[used] = current
                server.show(UseTexts.ungranted(current), .use(used))
            } else {
                open[used] = nil
                server.close(.use(used))
            }
        }
        for (used, group) in remembered where now[used] == nil && open[used] == nil && mayShow(.use(used)) {
            server.show(UseTexts.over(group), .use(used))
        }
        remembered = [:]
        reported = reported.filter { now[$0.key] != nil }
        for group in groups where reported[group.used] != group.newest {
            if group.isUngranted, open[group.used] == nil {
                guard mayShow(.use(group.used)) else { continue }
                open[group.used] = group
                server.show(UseTexts.ungranted(group), .use(group.used))
            }
            reported[group.used] = group.newest
        }
    }

    /// A person has stopped it. Servers close a notification with a click, but what is not cut off has to be reported of.
    func refused(_ group: UseGroup) {
        guard isActive, !group.isCut, open[group.used] == nil else { return }
        let refused = group.with(.denied)
        open[group.used] = refused
        server.show(UseTexts.ungranted(refused), .use(group.used))
    }

    func notify(failure: ClientError) {
        let text = Texts.text("Nothing was changed: %@", SafeText.line(failure.message))
        server.show(Notification(summary: text, icon: "dialog-error-symbolic"), .failure)
    }

    // MARK: Grants

    /// A decision has changed, by whomever; nil if there is none any more.
    func decided(_ used: UsedPermission, _ verdict: Verdict?) {
        guard verdict != .grant, undoable[used] != nil else { return }
        server.close(.grant(used))
        endUndo(used)
    }

    private func endUndo(_ used: UsedPermission) {
        guard let timer = undoable.removeValue(forKey: used) else { return }
        timer.cancel()
        onIdle()
    }

    /// Tells of the permissions that a person has just granted for ever in a prompt.
    func announceGrants() async {
        guard isActive else { return }
        let since = EpochSeconds(time(nil)) - UseNotifications.newness
        announced = announced.filter { $0.decided >= since }
        do throws(ClientError) {
            let rows = try await settings.history(
                outcome: .granted, since: since - UseNotifications.foldSeconds, limit: UseNotifications.recentRows)
            // What is set by settings programs has no request.
            for row in rows where row.by == .person && !row.request.isEmpty {
                guard let permission = row.item.permission, let app = row.app else { continue }
                try await announce(UsedPermission(app: app, permission: permission), app, since: since)
            }
        } catch {
            // Without the history there is nothing to tell; what is in use is shown all the same.
        }
    }

    private func announce(_ used: UsedPermission, _ app: AppID, since: EpochSeconds) async throws(ClientError) {
        guard let decision = try await decision(used, app), decision.decided >= since else { return }
        let grant = NewGrant(used: used, decided: decision.decided)
        guard !announced.contains(grant) else { return }
        let rows = try await settings.statuses(app: app.description, permission: used.permission)
        guard announced.insert(grant).inserted, mayShow(.grant(used)) else { return }
        undoable[used]?.cancel()
        undoable[used] = Loop.shared.after(milliseconds: UseNotifications.undoTime) { [weak self] in
            self?.server.close(.grant(used))
            self?.endUndo(used)
        }
        server.show(UseTexts.granted(grant, name: SafeText.title(rows.first?.appName ?? "")), .grant(used))
    }

    /// The person's grant for ever that is in force.
    private func decision(_ used: UsedPermission, _ app: AppID) async throws(ClientError) -> DecisionRow? {
        try await settings.decisions(app: app.description, item: .permission(used.permission)).first {
            $0.decision == .grant && $0.duration == .always && $0.by == .person
        }
    }

    /// Removes the grant, unless another decision has taken its place. There was none before it: otherwise nobody would
    /// have been asked.
    func undo(_ grant: NewGrant) async {
        guard let app = grant.used.app else { return }
        do throws(ClientError) {
            if try await decision(grant.used, app)?.decided == grant.decided {
                try await settings.reset(app: app.description, item: .permission(grant.used.permission))
            }
        } catch {
            notify(failure: error)
        }
        server.close(.grant(grant.used))
        endUndo(grant.used)
    }
}

// Grants that were taken back.
extension UseNotifications {
    /// Tells, in one notification, of the grants that permd has just taken back because nobody used them.
    func announceTakenBack() async {
        guard !isAskingForTakenBack else { return }
        isAskingForTakenBack = true
        let since = EpochSeconds(time(nil)) - UseNotifications.newness
        let rows = (try? await settings.history(outcome: .reset, since: since)) ?? []
        isAskingForTakenBack = false
        let new = rows.filter { $0.by == .unused }.compactMap { row in
            row.app.flatMap { app in row.item.permission.map { UsedPermission(app: app, permission: $0) } }
        }.filter { !takenBack.contains($0) }
        guard !new.isEmpty else { return }
        takenBack += new
        await showTakenBack()
    }

    private func showTakenBack() async {
        let grants = takenBack
        var apps: [(name: String, permissions: [Permission])] = []
        for (app, used) in Dictionary(grouping: grants, by: \.app) {
            guard let app, let rows = try? await settings.statuses(app: app.description) else { continue }
            apps.append((SafeText.title(rows.first?.appName ?? ""), used.map(\.permission).sorted()))
        }
        guard grants == takenBack else { return await showTakenBack() }
        takenBackEnd?.cancel()
        takenBackEnd = Loop.shared.after(milliseconds: UseNotifications.giveBackTime) { [weak self] in
            self?.server.close(.takenBack)
            self?.endTakenBack()
        }
        server.show(UseTexts.takenBack(apps.sorted { $0.name < $1.name }, grants), .takenBack)
    }

    private func endTakenBack() {
        takenBack = []
        takenBackEnd?.cancel()
        takenBackEnd = nil
        onIdle()
    }

    /// Grants them again, where nothing else was decided meanwhile.
    func giveBack(_ grants: [UsedPermission]) async {
        do throws(ClientError) {
            for used in grants {
                guard let app = used.app?.description else { continue }
                let item = PromptItem.permission(used.permission)
                guard try await settings.decisions(app: app, item: item).isEmpty else { continue }
                try await settings.set(
                    .grant, app: app, permission: used.permission, duration: .always, by: .person)
            }
        } catch {
            notify(failure: error)
        }
        server.close(.takenBack)
        endTakenBack()
    }
}

// The indicator: follows what permd lists as used, and shows it in the panel or in notifications. Ends when there is
// nothing to show.

import DBus
import DesktopServices
import Glibc
import PermissionClient
import PermissionTexts

@LoopActor
final class Indicator {
    /// Milliseconds without anything to show after which the program ends. Apps that pause for a moment do not start it
    /// again; and it is longer than a grant counts as new, so that the next start does not announce one again.
    private static let linger: Int64 = 12_000

    private let connection: Connection
    private let settings = PermissionSettings()
    private let watcher: PanelWatcher
    private let notifications: UseNotifications
    /// Whether the window Permissions is installed.
    private var hasWindow = false
    private let panel: PanelItem
    private let end: @LoopActor (_ problem: String?) -> Void
    private var list = UseList()
    private var switches: [Permission: Bool] = [:]
    private var ending: LoopTimer?
    /// Whether permd's lists have been read.
    private var hasRead = false

    /// - Parameter end: Called once: with nil when there is nothing to show any more, or with what is wrong.
    init(_ connection: Connection, end: @escaping @LoopActor (_ problem: String?) -> Void) {
        self.connection = connection
        self.end = end
        watcher = PanelWatcher(connection)
        let server = UseServer(connection, entry: "org.permd.Settings")
        notifications = UseNotifications(server, settings)
        panel = PanelItem()
        watcher.onChange = { [unowned self] in show() }
        notifications.onIdle = { [unowned self] in show() }
        server.onCommand = { [unowned self] in execute($0, token: $1) }
        panel.onCommand = { [unowned self] in execute($0, token: $1) }
    }

    func start() {
        watcher.start()
        onLoop { [self] in
            hasWindow = await settings.hasWindow()
            await follow()
        }
    }

    // MARK: Following permd

    private func follow() async {
        do throws(ClientError) {
            let events = try await settings.events()
            try await read()
            for await event in events { await handle(event) }
        } catch {
            end(error.message)
        }
    }

    private func read() async throws(ClientError) {
        list.replace(try await settings.uses())
        switches = try await settings.switches()
        hasRead = true
        show()
        await notifications.announceGrants()
        await notifications.announceTakenBack()
    }

    private func handle(_ event: SettingsEvent) async {
        switch event {
        case .useStarted(let use):
            list.started(use)
            show()
        case .useEnded(let number, _):
            list.ended(number)
            show()
        case .decisionChanged(let app, let permission, let verdict):
            let used = UsedPermission(app: app, permission: permission)
            if list.contains(used), let status = await status(app, permission) {
                list.changed(used, status)
                show()
            }
            notifications.decided(used, verdict)
            if verdict == .grant { await notifications.announceGrants() }
            if verdict == nil { await notifications.announceTakenBack() }
        case .switchChanged(let permission, let isOn):
            switches[permission] = isOn
            for group in list.groups where group.used.permission == permission {
                guard let app = group.used.app, let status = await status(app, permission) else { continue }
                list.changed(group.used, status)
            }
            show()
        case .daemonLost:
            list.replace([])
            show()
        // If permd leaves again meanwhile, another event follows.
        case .missed, .daemonBack: try? await read()
        case .queueChanged, .requestChanged, .deviceAdded, .deviceRemoved: break
        }
    }

    /// The status as if there were a usable device, as of uses: something is used, whatever permd thinks of the device.
    private func status(_ app: AppID, _ permission: Permission) async -> Status? {
        guard let row = try? await settings.statuses(app: app.description, permission: permission).first else {
            return nil
        }
        guard row.status == .unavailable else { return row.status }
        return row.decision?.decision == .grant || row.rule != nil ? .granted : .undetermined
    }

    // MARK: Showing

    private func show() {
        guard hasRead else { return }
        let groups = list.groups
        switch watcher.state {
        case .unknown: notifications.remember(groups)
        case .absent:
            panel.hide()
            notifications.show(groups)
        case .present(let owner):
            notifications.leave()
            panel.show(PanelView(groups, switches, hasWindow: hasWindow), at: owner)
        }
        let isIdle = groups.isEmpty && !notifications.isWaiting
        if !isIdle {
            ending?.cancel()
            ending = nil
        } else if ending == nil {
            ending = Loop.shared.after(milliseconds: Indicator.linger) { [weak self] in self?.leave() }
        }
    }

    /// Releases the name before the end: from then on the bus starts another indicator, and what began before has been
    /// reported to this one.
    private func leave() {
        connection.askBus("ReleaseName", .string(BusNames.indicatorService)) { [weak self] _ in
            guard let self else { return }
            ending = nil
            guard list.groups.isEmpty, !notifications.isWaiting else { return stay() }
            end(nil)
        }
    }

    private func stay() {
        connection.requestName(BusNames.indicatorService) { [weak self] result in
            guard let self else { return }
            if case .success(true) = result { show() } else { end(nil) }
        }
    }

    // MARK: Commands

    /// - Parameter token: What lets a window come to the front (xdg-activation); may be empty.
    private func execute(_ command: Command, token: String) {
        switch command {
        case .stop(let used): stop(used)
        case .turn(let permission, let isOn): turn(permission, on: isOn)
        case .openPermissions: onLoop { [settings] in await settings.openWindow(token: token) }
        case .undo(let grant): onLoop { [notifications] in await notifications.undo(grant) }
        case .giveBack(let grants): onLoop { [notifications] in await notifications.giveBack(grants) }
        }
    }

    private func turn(_ permission: Permission, on: Bool) {
        onLoop { [settings, notifications] in
            do throws(ClientError) { try await settings.setSwitch(permission, on: on) } catch {
                notifications.notify(failure: error)
            }
        }
    }

    /// Refuses the permission until the session ends. A reset would not do: an enforcement point would ask the person
    /// again at once, or let a program outside a sandbox pass.
    private func stop(_ used: UsedPermission) {
        guard let app = used.app, let group = list.groups.first(where: { $0.used == used }), group.canBeStopped else {
            return
        }
        onLoop { [settings, notifications] in
            do throws(ClientError) {
                try await settings.set(
                    .deny, app: app.description, permission: used.permission, duration: UseRow.refusalWhenStopped,
                    by: .person)
                notifications.refused(group)
            } catch {
                notifications.notify(failure: error)
            }
        }
    }
}

/// What a person can choose in the menu or in a notification to be done.
enum Command: Sendable, Hashable {
    case stop(UsedPermission)
    /// Switches a permission off or on for every app.
    case turn(Permission, on: Bool)
    case openPermissions
    case undo(NewGrant)
    /// Grants again what was taken back because nobody used it.
    case giveBack([UsedPermission])
}

// What the window shows: lists of permd, kept up to date by its signals. Used only on GTK's thread.

import CAdwaita
import PermissionClient

@MainActor
final class Model {
    /// Whether permd can be asked.
    enum Presence: Equatable {
        case unknown
        /// permd does not run.
        case absent
        /// permd runs or cannot be started, and a call failed with this message.
        case failed(String)
        case present
    }

    /// What has changed.
    enum Part: Sendable, Hashable { case presence, apps, uses, history, devices, switches, rules }

    let settings = PermissionSettings()
    let names = AppNames()
    private(set) var presence = Presence.unknown
    private(set) var lists = Lists()
    /// Whether the list of apps was read at least once, so that an empty one means that there are none.
    private(set) var isRead = false
    private var listeners: [@MainActor (Part) -> Void] = []
    private var following: Task<Void, Never>?
    /// What has to be read again, and whether something is being read.
    private var due = Due()
    private var isReading = false

    /// Calls the closure whenever a part has changed.
    func onChange(_ body: @escaping @MainActor (Part) -> Void) { listeners.append(body) }

    private func changed(_ part: Part) { for listener in listeners { listener(part) } }

    func entry(_ app: AppID) -> AppEntry {
        lists.apps.first { $0.app == app } ?? AppEntry(app, decisions(app), names)
    }

    func decisions(_ app: AppID) -> [DecisionRow] { lists.decisions[app] ?? [] }

    // MARK: permd comes and goes

    /// Begins to follow permd, which must have an owner on the bus: a call would start it otherwise.
    func appeared() {
        following?.cancel()
        let settings = settings
        following = Task.detached {
            do throws(ClientError) {
                let events = try await settings.events()
                onGtk { self.readEverything() }
                for await event in events { onGtk { self.apply(event) } }
            } catch {
                onGtk { self.fail(error) }
            }
        }
    }

    func vanished() {
        following?.cancel()
        following = nil
        set(.absent)
        lists.uses = []
        changed(.uses)
    }

    /// Starts permd through the bus, and calls the closure when it is there or an error is known.
    func start(then done: @escaping @MainActor () -> Void) {
        inBackground { [settings] () async throws(ClientError) in
            try await settings.programVersion()
        } then: { [self] result in
            if case .failure(let error) = result { fail(error) } else { appeared() }
            done()
        }
    }

    func fail(_ error: ClientError) { set(.failed(SafeText.line(error.message))) }

    private func set(_ new: Presence) {
        guard presence != new else { return }
        presence = new
        changed(.presence)
    }

    // MARK: Reading

    private func readEverything() {
        due = Due(uses: true, devices: true, switches: true, rules: true, decisions: true, history: .all)
        read()
    }

    private func apply(_ event: SettingsEvent) {
        switch event {
        case .decisionChanged(let app, _, _):
            due.apps.insert(app)
            due.history.add(.newest)
        case .switchChanged(let permission, let isOn):
            lists.switches[permission] = isOn
            changed(.switches)
            due.history.add(.newest)
        case .queueChanged: return
        case .requestChanged(let app, _, let state):
            guard state != "queued", state != "showing" else { return }
            // A dismissed request may have begun a pause.
            due.apps.insert(app)
            due.history.add(.newest)
        case .deviceAdded, .deviceRemoved:
            due.devices = true
            due.rules = true
        case .useStarted(let use):
            lists.uses.removeAll { $0.use == use.use }
            lists.uses.append(use)
            changed(.uses)
            if let app = use.app, !lists.apps.contains(where: { $0.app == app }) { due.apps.insert(app) }
        case .useEnded(let use, _):
            lists.uses.removeAll { $0.use == use }
            changed(.uses)
            due.history.add(.newest)
        case .missed, .daemonBack: return readEverything()
        case .daemonLost: return
        }
        read()
    }

    /// Reads what is due, one reading at a time: what becomes due meanwhile is read once afterwards.
    private func read() {
        guard !isReading, due != Due() else { return }
        isReading = true
        let due = due
        self.due = Due()
        inBackground { [settings, names, lists] () async throws(ClientError) in
            try await Reading(settings, names).lists(due, lists)
        } then: { [self] result in
            isReading = false
            switch result {
            case .success(let lists): show(lists, due)
            case .failure(let error): fail(error)
            }
            read()
        }
    }

    private func show(_ new: Lists, _ due: Due) {
        let isFirst = !isRead
        isRead = true
        let before = lists
        lists = new
        // Events are newer than a list that was not read now.
        if !due.uses { lists.uses = before.uses }
        if !due.switches { lists.switches = before.switches }
        set(.present)
        if isFirst || before.apps != lists.apps { changed(.apps) }
        if due.uses { changed(.uses) }
        if isFirst || before.history != lists.history { changed(.history) }
        if isFirst || before.devices != lists.devices { changed(.devices) }
        if isFirst || before.switches != lists.switches { changed(.switches) }
        if isFirst || before.rules != lists.rules { changed(.rules) }
    }
}

// A program that stands between apps and a device: what permd says about its subjects, its requests and its reports of
// uses go on whenever permd or the bus comes back.

package import DBus
package import PermissionClient
package import PermissionModel

@LoopActor
package final class EnforcementPoint {
    /// Whom permd wants to be asked about, as it said last.
    package private(set) var ask = AskScope.sandboxed
    package private(set) lazy var access = AccessTable(link, permissions) { [weak self] in self?.onAccess?($0) }
    package private(set) lazy var requests = SubjectRequests(link) { [weak self] in self?.onChange?() }
    package private(set) lazy var uses = UseReports(link)
    /// Called when permd has said something about a subject.
    package var onAccess: (@LoopActor (Subject) -> Void)?
    /// Called when something else may have changed: whom to ask, whether permd is there, whether a request may be made.
    package var onChange: (@LoopActor () -> Void)?
    private let permissions: [Permission]
    private lazy var link = PermdLink(bus, source: source) { [weak self] in self?.happened($0) }
    private let source: String
    private let bus: PermissionBus

    /// - Parameters:
    ///   - source: What it calls itself in permd's list of uses, such as `pipewire`.
    ///   - permissions: Those of the devices that it stands before.
    ///   - bus: Where permd is.
    package init(source: String, permissions: [Permission], on bus: PermissionBus = .session) {
        self.bus = bus
        self.source = source
        self.permissions = permissions
    }

    /// Throws if there is no session bus. It is needed at the start only; later it is waited for.
    package func start() async throws { try await link.start() }

    /// A subject got at a device past this program, which cut it off.
    package func reportBypass(_ subject: Subject, _ permission: Permission, device: String) {
        guard let who = subject.who else { return }
        link.reportUse(who, permission, device: device, isBypass: true) { _ in }
    }

    private func happened(_ event: PermdLink.Event) {
        switch event {
        case .came(let ask):
            self.ask = ask
            access.refresh(nil)
            requests.retry(nil)
        case .left:
            access.disconnected()
            requests.disconnected()
            uses.disconnected()
        case .changed(let app):
            access.refresh(app)
            requests.retry(app)
        }
        onChange?()
    }
}

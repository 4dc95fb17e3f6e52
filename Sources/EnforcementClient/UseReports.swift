// Reports to permd what is used now.

package import DBus
package import PermissionModel

package struct SubjectUse: Hashable {
    package let subject: Subject
    package let permission: Permission
    package let device: String

    package init(_ subject: Subject, _ permission: Permission, device: String) {
        self.subject = subject
        self.permission = permission
        self.device = device
    }
}

@LoopActor
package final class UseReports {
    private enum State {
        case reporting(isOver: Bool)
        case reported(UInt32)
        /// permd does not list it.
        case refused
    }

    private let permd: PermdLink
    private var states: [SubjectUse: State] = [:]

    init(_ permd: PermdLink) { self.permd = permd }

    /// permd has left, and its list with it.
    func disconnected() { states = [:] }

    /// Reports what began and what ended since the last update.
    package func update(_ current: Set<SubjectUse>) {
        guard permd.isReady else { return }
        for (use, state) in states {
            let isOver = !current.contains(use)
            switch state {
            case .reporting: states[use] = .reporting(isOver: isOver)
            case .reported(let number) where isOver:
                permd.endUse(number)
                states[use] = nil
            case .refused where isOver: states[use] = nil
            case .reported, .refused: break
            }
        }
        for use in current where states[use] == nil {
            guard let who = use.subject.who else { continue }
            states[use] = .reporting(isOver: false)
            permd.reportUse(who, use.permission, device: use.device, isBypass: false) { [weak self] in
                self?.reported(use, $0)
            }
        }
    }

    private func reported(_ use: SubjectUse, _ number: UInt32?) {
        guard case .reporting(let isOver)? = states[use] else { return }
        states[use] = isOver ? nil : number.map { .reported($0) } ?? .refused
        if isOver, let number { permd.endUse(number) }
    }
}

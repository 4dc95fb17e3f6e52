// Reports to permd what is used now.

import CaptureRules
import DBus
import PermissionModel

struct UseKey: Hashable {
    let owner: Owner
    let permission: Permission
    let device: String
}

@LoopActor
final class Uses {
    private enum State {
        case reporting(isOver: Bool)
        case reported(UInt32)
        /// permd does not list it.
        case refused
    }

    private let permd: PermdLink
    private var states: [UseKey: State] = [:]

    init(_ permd: PermdLink) { self.permd = permd }

    /// permd has left, and its list with it.
    func stop() { states = [:] }

    func update(_ now: Set<UseKey>) {
        guard permd.isReady else { return }
        for (key, state) in states {
            let isOver = !now.contains(key)
            switch state {
            case .reporting: states[key] = .reporting(isOver: isOver)
            case .reported(let use) where isOver:
                permd.endUse(use)
                states[key] = nil
            case .refused where isOver: states[key] = nil
            case .reported, .refused: break
            }
        }
        for key in now where states[key] == nil {
            guard let who = key.owner.who else { continue }
            states[key] = .reporting(isOver: false)
            permd.reportUse(who, key.permission, device: key.device) { [weak self] in self?.reported(key, $0) }
        }
    }

    private func reported(_ key: UseKey, _ use: UInt32?) {
        guard case .reporting(let isOver)? = states[key] else { return }
        states[key] = isOver ? nil : use.map { .reported($0) } ?? .refused
        if isOver, let use { permd.endUse(use) }
    }
}

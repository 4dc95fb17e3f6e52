// Borrows the desktop's own dialog: each question of a prompt as one AccessDialog of org.freedesktop.impl.portal.Access.

import DBus
import PermissionClient

/// Every desktop answers a little differently; what is not clearly a person's word is none.
@LoopActor
final class PortalPresenter: PromptPresenter {
    /// Milliseconds before which an answer is no person's: a click that was meant for something else, or a refusal to
    /// show a second dialog.
    static let reaction: Int64 = 500
    /// Milliseconds until a dialog is tried again, and how often: another one may be open.
    static let pauseBeforeRetry: Int64 = 1000
    static let tries = 4

    private static let path = "/org/freedesktop/portal/desktop"

    private let connection: Connection
    private let backend: PortalBackend
    /// Milliseconds of a clock that only goes forward.
    private let uptime: @Sendable () -> Int64
    private var lastHandle = 0

    /// On a connection of its own to the session bus.
    static func open(_ backend: PortalBackend) throws(ClientError) -> PortalPresenter {
        do throws(BusError) { return PortalPresenter(try Connection.open(.session), backend) } catch {
            throw ClientError(kind: .noBus, message: "there is no session bus: \(error.message)", isRetryable: true)
        }
    }

    init(
        _ connection: Connection, _ backend: PortalBackend,
        uptime: @escaping @Sendable () -> Int64 = { Loop.uptimeMilliseconds() }
    ) {
        self.connection = connection
        self.backend = backend
        self.uptime = uptime
    }

    /// Everything said so far is with the bus when this returns.
    func flush() { connection.flush() }

    nonisolated func present(_ prompt: AgentPrompt) async -> AgentAnswer { await ask(prompt) }

    private func ask(_ prompt: AgentPrompt) async -> AgentAnswer {
        if let explanation = prompt.explanation {
            let dialog = BorrowedDialog(explanation, prompt)
            switch await show(dialog) {
            case .allowed: break
            case .refused, .cancelled: return .dismissed
            case .failed(let why): return .failed(why)
            }
        }
        var decisions: [Question: ItemDecision] = [:]
        for (index, item) in prompt.items.enumerated() {
            let dialog = BorrowedDialog(item, number: index + 1, prompt)
            switch await show(dialog) {
            case .allowed(let results):
                decisions[item.question] = ItemDecision(
                    verdict: .grant, duration: BorrowedDialog.duration(of: results),
                    choices: dialog.selections(in: results))
            // GNOME Shell and KDE say the same for Escape: so it is no word for ever.
            case .refused: decisions[item.question] = ItemDecision(verdict: .deny, duration: .once)
            case .cancelled: break
            case .failed(let why): return .failed(why)
            }
        }
        return decisions.isEmpty ? .dismissed : .answered(decisions)
    }

    private enum Outcome {
        /// With the dialog's results.
        case allowed(Value)
        case refused
        case cancelled
        case failed(String)
    }

    /// Shows a dialog until a person has answered it.
    private func show(_ dialog: BorrowedDialog) async -> Outcome {
        var last = "the desktop's dialog did not appear"
        for attempt in 0..<PortalPresenter.tries {
            if attempt > 0 { await pause(PortalPresenter.pauseBeforeRetry) }
            if Task.isCancelled { return .failed("withdrawn") }
            let owner: String
            do throws(ClientError) { owner = try await TrustedOwner.find(backend.busName, on: connection) } catch {
                return .failed(error.message)
            }
            let began = uptime()
            switch await call(dialog, owner) {
            case .failure(let error):
                last = error.message
                // Its owner went, or there is none: another try finds no other.
                guard error.name.hasSuffix("LimitsExceeded") || error.name.hasSuffix("Failed") else {
                    return .failed(last)
                }
            case .success(let message):
                guard message.body.count == 2, let response = message.body[0].uint32Value else {
                    return .failed("the desktop's dialog answered \(message.signature)")
                }
                // Faster than a person: a click in flight, or "there is one open already".
                guard uptime() - began >= PortalPresenter.reaction else {
                    last = "the desktop's dialog was answered before anybody could read it"
                    continue
                }
                switch response {
                case 0: return .allowed(message.body[1])
                case 1: return .refused
                default: return .cancelled
                }
            }
        }
        return .failed(last)
    }

    /// The owner of the backend's name was identified: another one's answer would be no person's. The person may take any
    /// time; a withdrawn prompt is closed by its handle.
    private func call(_ dialog: BorrowedDialog, _ owner: String) async -> Result<Message, BusError> {
        lastHandle += 1
        let handle = "\(PortalPresenter.path)/request/permd/\(lastHandle)"
        let call = Message.call(
            destination: owner, path: PortalPresenter.path, interface: PortalBackends.access,
            member: "AccessDialog", dialog.arguments(handle: handle))
        do throws(BusError) {
            return .success(try await connection.call(call, timeoutMilliseconds: nil))
        } catch {
            if Task.isCancelled {
                connection.send(
                    .call(
                        destination: owner, path: handle,
                        interface: "org.freedesktop.impl.portal.Request", member: "Close", noReply: true))
            }
            return .failure(error)
        }
    }

    private func pause(_ milliseconds: Int64) async {
        await withCheckedContinuation { done in Loop.shared.after(milliseconds: milliseconds) { done.resume() } }
    }
}

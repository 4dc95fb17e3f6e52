// Shows prompts in the desktop's own dialog: each question is one AccessDialog call of
// org.freedesktop.impl.portal.Access.

import DBus
import PermissionClient

/// Desktops differ in how they answer. A reply that may not come from a person is not taken as an answer.
@LoopActor
final class PortalPresenter: PromptPresenter {
    /// Answers that come within this many milliseconds do not count: they are clicks meant for something else, or the
    /// backend refuses to show a second dialog.
    static let reaction: Int64 = 500
    /// Milliseconds between two attempts to show a dialog, and the number of attempts: another dialog may be open.
    static let pauseBeforeRetry: Int64 = 1000
    static let tries = 4

    private static let path = "/org/freedesktop/portal/desktop"

    private let connection: Connection
    private let backend: PortalBackend
    /// A monotonic clock in milliseconds.
    private let uptime: @Sendable () -> Int64
    private var lastHandle = 0

    /// Opens a separate connection to the session bus.
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

    /// Returns when all messages sent so far have been passed to the bus.
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
            // GNOME Shell and KDE send the same response for Escape, so the refusal must not be permanent.
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

    /// Shows a dialog and waits for a person's answer; tries again if the backend cannot show it now.
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
                // Other errors mean that the owner has exited, or that there is none: trying again does not help.
                guard error.name.hasSuffix("LimitsExceeded") || error.name.hasSuffix("Failed") else {
                    return .failed(last)
                }
            case .success(let message):
                guard message.body.count == 2, let response = message.body[0].uint32Value else {
                    return .failed("the desktop's dialog replied with \(message.signature), not ua{sv}")
                }
                // Too fast for a person: a click already under way, or a backend with another dialog open.
                guard uptime() - began >= PortalPresenter.reaction else {
                    last = "the desktop's dialog was answered faster than a person can read it"
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

    /// Calls AccessDialog without a timeout; if the prompt is withdrawn, closes the dialog by its handle. The call goes
    /// to the owner of the backend's name that was identified, because another owner could answer in the person's
    /// place.
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

// Connects the agent's two threads: prompts arrive on the bus's, windows live on GTK's.

import CAdwaita
import DBus
import PermissionClient
import Synchronization

// SAFETY: `window`, `idleTimer` and `synthetic` are accessed only on GTK's thread, through `onGtk`; `loop` never changes, and GLib's
// main loop may be woken from any thread.
final class WindowStage: PromptPresenter, @unchecked Sendable {
    let loop = g_main_loop_new(nil, 0)!
    private let idleSeconds: UInt32
    private let syntheticInput: YesNo
    private let notice = PromptNotice()
    private var window: PromptWindow?
    private var idleTimer: UInt32 = 0
    private var synthetic: SyntheticInput?

    /// - Parameters:
    ///   - idleSeconds: the time without a prompt after which the agent exits; 0 means never.
    ///   - syntheticInput: whether keys and clicks that other programs make count.
    init(idleSeconds: UInt32, syntheticInput: YesNo) {
        self.idleSeconds = idleSeconds
        self.syntheticInput = syntheticInput
    }

    /// Runs GTK's main loop on the calling thread until the agent is to exit.
    func run() {
        restIdle()
        // This runs while the other thread registers with the daemon.
        adw_init()
        PromptWindow.rehearse()
        Loop.shared.post { [self] in
            notice.onChosen = { token in WindowStage.onGtk { [self] in window?.bringForward(token) } }
        }
        if syntheticInput == .no { synthetic = SyntheticInput { [unowned self] in window?.inputRefused() } }
        g_main_loop_run(loop)
        window?.close()
    }

    func present(_ prompt: AgentPrompt) async -> AgentAnswer {
        if await comesWithKeyboard() { await InputPause().wait() }
        let answer = PendingAnswer()
        let updating = Task {
            for await change in prompt.changes { WindowStage.onGtk { [self] in update(answer, change) } }
        }
        defer { updating.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                answer.wait(with: continuation)
                WindowStage.onGtk { [self] in show(prompt, answer) }
            }
        } onCancel: {
            answer.give(.failed("withdrawn"))
            WindowStage.onGtk { [self] in hide(answer) }
        }
    }

    /// Whether the prompt needs a new window, which gets the keyboard at once.
    private func comesWithKeyboard() async -> Bool {
        await withCheckedContinuation { continuation in
            WindowStage.onGtk { [self] in
                stopIdle()
                continuation.resume(returning: window == nil && PromptPlacement.comesWithKeyboard)
            }
        }
    }

    // MARK: On GTK's thread

    private func show(_ prompt: AgentPrompt, _ answer: PendingAnswer) {
        guard !answer.isGiven, !prompt.items.isEmpty else {
            answer.give(.failed("a prompt without a question"))
            if window == nil { restIdle() }
            return
        }
        let window = window ?? PromptWindow { [notice] in WindowStage.say($0, in: notice) }
        self.window = window
        window.show(prompt, answer) { [self] in hide(answer) }
    }

    /// Says in a notification that the question waits; nil takes that back.
    private static func say(_ question: String?, in notice: PromptNotice) {
        Loop.shared.post {
            if let question { notice.show(question) } else { notice.close() }
        }
    }

    private func update(_ answer: PendingAnswer, _ change: AgentPrompt.Update) {
        if let window, window.isShowing(answer) { window.update(change) }
    }

    private func hide(_ answer: PendingAnswer) {
        guard let window, window.isShowing(answer) else { return }
        window.end { [self] in
            window.close()
            self.window = nil
            restIdle()
        }
    }

    private func restIdle() {
        guard idleSeconds > 0 else { return }
        stopIdle()
        idleTimer = g_timeout_add_seconds(
            idleSeconds,
            { context in
                g_main_loop_quit(OpaquePointer(context))
                return 0
            }, UnsafeMutableRawPointer(loop))
    }

    private func stopIdle() {
        if idleTimer != 0 { g_source_remove(idleTimer) }
        idleTimer = 0
    }

    static func onGtk(_ body: @escaping @Sendable () -> Void) {
        let box = Unmanaged.passRetained(Box(body))
        g_idle_add_full(
            G_PRIORITY_DEFAULT,
            { context in
                guard let context else { return 0 }
                Unmanaged<Box>.fromOpaque(context).takeRetainedValue().body()
                return 0
            }, box.toOpaque(), nil)
    }

    private final class Box: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
}

/// The answer to a prompt. Only the first one given counts, whether it is the person's or a withdrawal.
final class PendingAnswer: Sendable {
    private enum State {
        case open(CheckedContinuation<AgentAnswer, Never>?)
        case given(AgentAnswer)
    }

    private let state = Mutex(State.open(nil))

    var isGiven: Bool { state.withLock { if case .given = $0 { true } else { false } } }

    func wait(with continuation: CheckedContinuation<AgentAnswer, Never>) {
        let early: AgentAnswer? = state.withLock { state in
            if case .given(let answer) = state { return answer }
            state = .open(continuation)
            return nil
        }
        if let early { continuation.resume(returning: early) }
    }

    func give(_ answer: AgentAnswer) {
        let waiting: CheckedContinuation<AgentAnswer, Never>? = state.withLock { state in
            guard case .open(let continuation) = state else { return nil }
            state = .given(answer)
            return continuation
        }
        waiting?.resume(returning: answer)
    }
}

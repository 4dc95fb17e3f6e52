// The code in the articles and doc comments of PermissionClient, compiled and run by `ArticleTests`.

import Dispatch
import Glibc
import PermissionClient

/// The code of AskingFromAnApp.md.
struct AskingExamples {
    let center: PermissionCenter
    let show: @Sendable (String) async -> Void
    let capture: @Sendable (Int32) async throws -> Void

    private func capture(from descriptor: Int32) async throws { try await capture(descriptor) }

    func turnOnCamera() async throws {
        let status = try await center.request(.camera, reason: "So that the others can see you")
        switch status {
        case .granted: await show("The others can see you.")
        case .denied: await show("You have denied this app the camera.")
        case .undetermined: await show("The call goes on without a picture.")
        case .unavailable: await show("There is no camera.")
        case .restricted: await show("Your administrator does not allow the camera.")
        }
    }

    func turnOnCameraIfPossible() async throws {
        do {
            try await turnOnCamera()
        } catch let error as ClientError {
            await show(error.isRetryable ? "\(error.message). Try again later." : error.message)
        }
    }

    func startCall() async throws {
        let result = try await center.request(
            [.camera, .microphone],
            reasons: [.camera: "So that the others can see you", .microphone: "So that the others can hear you"],
            explanation: Explanation(
                title: "Before your call", body: "The others see and hear you only while the call lasts."))
        if result.isGranted {
            await show("The call begins.")
        } else if result.isDismissed {
            await show("Start the call when you are ready.")
        } else if let missing = result.firstRefused {
            await show("The call needs the \(missing): \(result[missing]).")
        }
    }

    func prepareCall() async throws {
        let prepare = Workflow { context in
            guard try await context.request(.microphone) == .granted else { return "A call needs a microphone." }
            let camera = try await context.request(.camera)
            return camera == .granted ? "The call has a picture." : "The call has no picture."
        }
        await show(try await center.add(prepare))
    }

    func waitForLocation() async throws {
        for try await phase in center.phases(of: [.location]) {
            switch phase {
            case .queued(let position): await show("\(position) before you")
            case .showing: await show("Answer the question on your screen.")
            case .settled(let result): await show(result.isGranted ? "Here you are." : "No location.")
            }
        }
    }

    func record() async throws {
        let microphone = try await center.openDevice(.microphone)
        await show("Recording from \(microphone.name)")
        try await capture(from: microphone.descriptor.raw)
    }

    func followCamera() async throws {
        for try await status in center.statuses(of: .camera) {
            await show(status == .granted ? "The camera is ready." : "The camera is off: \(status).")
        }
    }
}

/// The code of WritingAnAgent.md.
struct AgentExample {
    let bus: PermissionBus

    func runAgent(_ ask: @escaping DialogPresenter.Dialog) async throws {
        try await AgentHost(bus: bus, level: .desktop, presenter: DialogPresenter(ask: ask)).run { event in
            switch event {
            case .registered: print("prompts are shown here")
            case .daemonLost: print("permd has left the bus; waiting for it to return")
            case .refused(let error): print("permd did not register this agent: \(error.message)")
            }
        }
    }
}

struct DialogPresenter: PromptPresenter {
    /// Shows a text with buttons. Returns the index of the chosen button, or nil if the Task is cancelled.
    typealias Dialog = @Sendable (_ text: String, _ buttons: [String]) async -> Int?

    let ask: Dialog

    func present(_ prompt: AgentPrompt) async -> AgentAnswer {
        guard !prompt.items.isEmpty else { return .failed("this agent does not know the question") }
        if let explanation = prompt.explanation {
            let text = "\(prompt.displayName) says: \(explanation.title)\n\(explanation.body)"
            guard await ask(text, ["Continue", "Not now"]) == 0 else { return .dismissed }
        }
        let choices = PromptChoice.offered(prompt.durations)
        var decisions: [PromptItem: ItemDecision] = [:]
        for item in prompt.items {
            let buttons = choices.map { item.portalLabel($0) ?? label($0) } + ["Not now"]
            guard let button = await ask(question(item, of: prompt), buttons) else { return .failed("withdrawn") }
            if button < choices.count { decisions[item.id] = choices[button].decision }
        }
        return decisions.isEmpty ? .dismissed : .answered(decisions)
    }

    private func question(_ item: AgentPrompt.Item, of prompt: AgentPrompt) -> String {
        if item.isOfPortal { return "\(prompt.displayName): \(item.dialog?.title ?? "")\n\(item.portalWords)" }
        let text = "\(prompt.displayName) (\(prompt.app)) wants to use: \(item.id.name) \(item.deviceName)"
        return item.reason.isEmpty ? text : "\(text)\nIt says: \(item.reason)"
    }

    private func label(_ choice: PromptChoice) -> String {
        switch choice {
        case .deny: "Never allow"
        case .once: "Allow this time"
        case .hour: "Allow for one hour"
        case .session: "Allow until I log out"
        case .always: "Always allow"
        }
    }
}

/// The code of doc comments, which is compiled only.
private struct CommentExamples {
    let center: PermissionCenter
    let presenter: DialogPresenter
    let show: @Sendable (String) async -> Void
    let setMuted: @Sendable (Bool) -> Void
    let capture: @Sendable (Int32) async throws -> Void

    private func capture(from descriptor: Int32) async throws { try await capture(descriptor) }

    func permissionCenter() async throws {
        let result = try await PermissionCenter.session.request([.camera, .microphone])
        if let missing = result.firstRefused { await show("The call needs the \(missing).") }
    }

    func submit() {
        let setMuted = setMuted
        center.submit(SingleRequest(.microphone)) { result in
            let isGranted = (try? result.get()) == .granted
            DispatchQueue.main.async { setMuted(!isGranted) }
        }
    }

    func singleRequest() async throws -> Status {
        let status = try await SingleRequest(.camera, reason: "For your video call").request()
        return status
    }

    func workflow() async throws -> Bool {
        let call = Workflow { context in
            guard try await context.request(.camera) == .granted else { return false }
            return try await context.request(.microphone) == .granted
        }
        let isReady = try await PermissionCenter.session.add(call)
        return isReady
    }

    func requestPhases() async throws {
        for try await phase in PermissionCenter.session.phases(of: [.camera]) {
            switch phase {
            case .queued(let position): await show("\(position) before you")
            case .showing: await show("Answer the question on your screen.")
            case .settled(let result): await show(result.isGranted ? "Ready" : "No camera")
            }
        }
    }

    func openDevice() async throws {
        let camera = try await center.openDevice(.camera)
        try await capture(from: camera.descriptor.raw)
    }

    func statusStream() async throws {
        for try await status in PermissionCenter.session.statuses(of: .camera) { await show("Camera: \(status)") }
    }

    func permissionSettings() async throws {
        for row in try await PermissionSettings().decisions() { print(row.app, row.item.name, row.decision) }
    }

    func agentHost() async throws {
        try await AgentHost(presenter: presenter).run()
    }
}

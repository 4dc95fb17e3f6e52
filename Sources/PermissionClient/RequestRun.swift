// One request from the call to the answer. It is repeated if the daemon restarts meanwhile.

import DBus
import PermissionModel

/// The parameters of a request.
struct RequestOrder: Sendable {
    let permissions: [Permission]
    let reasons: [Permission: String]
    let explanation: Explanation?
    var options: RequestOptions

    /// The arguments of org.permd.Access1.RequestAccess.
    func body(token: String) -> [Value] {
        var values: [String: Value] = ["handle_token": .string(token)]
        if !reasons.isEmpty {
            values["reasons"] = .stringTable(reasons.map { ($0.key.rawValue, $0.value) }.sorted { $0.0 < $1.0 })
        }
        if let explanation {
            values["explanation"] = .structure([.string(explanation.title), .string(explanation.body)])
        }
        if !options.parentWindow.isEmpty { values["parent_window"] = .string(options.parentWindow) }
        if !options.isInteractive { values["interactive"] = .bool(false) }
        if options.hold > 0 { values["hold"] = .uint32(UInt32(clamping: options.hold)) }
        return [.strings(permissions.map(\.rawValue)), .properties(values)]
    }
}

@LoopActor
final class RequestRun {
    private enum State {
        /// The connection to the bus is being opened.
        case connecting
        /// The daemon was asked.
        case asked(RequestObject)
        /// The daemon that had it has left the bus. The request is repeated when a daemon is there.
        case lost
        case over
    }

    private static var lastToken = 0

    private let link: BusLink
    private let order: RequestOrder
    private let token: String
    private let onPhase: @LoopActor (RequestPhase) -> Void
    private var state = State.lost
    private var wasAccepted = false
    private var place = (isShowing: false, position: 0)
    private var lastPhase: RequestPhase?
    private var moves: Subscription?
    private var listener: Subscription?
    private var result: Result<RequestResult, any Error>?
    private var continuation: CheckedContinuation<RequestResult, any Error>?

    /// Makes a request and returns its answer, after the phase `settled`. Cancelling the Task withdraws it and throws
    /// `CancellationError`.
    static func perform(
        _ order: RequestOrder, on link: BusLink, onPhase: @escaping @LoopActor (RequestPhase) -> Void
    ) async throws -> RequestResult {
        let run = RequestRun(link, order, onPhase)
        return try await withTaskCancellationHandler {
            run.start()
            return try await run.answer()
        } onCancel: {
            Loop.shared.post { run.cancel() }
        }
    }

    private init(_ link: BusLink, _ order: RequestOrder, _ onPhase: @escaping @LoopActor (RequestPhase) -> Void) {
        self.link = link
        self.order = order
        self.onPhase = onPhase
        RequestRun.lastToken += 1
        token = order.options.token ?? "client\(RequestRun.lastToken)"
    }

    private func start() {
        // It may have been cancelled before.
        guard case .lost = state else { return }
        listener = link.onDaemonChange { [self] in daemonChanged($0) }
        ask()
    }

    private func answer() async throws -> RequestResult {
        try await withCheckedThrowingContinuation { waiter in
            // The answer may have come in the suspension before this closure runs.
            if let result { waiter.resume(with: result) } else { continuation = waiter }
        }
    }

    private func finish(_ result: Result<RequestResult, any Error>) {
        guard self.result == nil else { return }
        self.result = result
        continuation?.resume(with: result)
        continuation = nil
    }

    /// Withdraws the request. No phase follows.
    private func cancel() {
        if case .asked(let object) = state { object.close() }
        end()
        finish(.failure(CancellationError()))
    }

    private func ask() {
        state = .connecting
        link.open { [self] result in
            guard case .connecting = state else { return }
            switch result {
            case .success(let connection): ask(on: connection)
            case .failure(let error): if wasAccepted { state = .lost } else { fail(error) }
            }
        }
    }

    private func ask(on connection: Connection) {
        let object = RequestObject(link, on: connection, token: token) { [self] in ended($0) }
        state = .asked(object)
        moves?.cancel()
        moves = link.onSignal(
            StandardInterfaces.properties, "PropertiesChanged", path: object.path, on: connection
        ) { [self] in
            if $0.body.count > 1 { moved($0.body[1].properties ?? [:]) }
        }
        object.make(BusNames.access, "RequestAccess", order.body(token: token)) { [self] in
            wasAccepted = true
            askForPlace(object.path)
        }
    }

    private func ended(_ end: RequestObject.End) {
        switch end {
        case .refused(let error): refused(ClientError(error))
        case .answered(let results): answered(results)
        case .failed(let results): failed(results)
        }
    }

    private func refused(_ error: ClientError) {
        guard wasAccepted, error.kind == .noDaemon || error.kind == .noBus else { return fail(error) }
        // The next daemon may have started before the error arrived.
        state = .lost
        if link.believed != nil { ask() }
    }

    /// Gets the state and position. The object of a request that was answered at once does not exist any more.
    private func askForPlace(_ path: String) {
        link.opened?.call(
            .call(
                destination: BusNames.service, path: path, interface: StandardInterfaces.properties,
                member: "GetAll", [.string(BusNames.request)], noAutoStart: true)
        ) { [self] in if let values = try? $0.get().body.first?.properties { moved(values) } }
    }

    private func moved(_ values: [String: Value]) {
        guard case .asked = state else { return }
        if let word = values["State"]?.stringValue { place.isShowing = word == "showing" }
        if let position = values["Position"]?.uint32Value { place.position = Int(position) }
        let phase: RequestPhase = place.isShowing ? .showing : .queued(position: place.position)
        guard phase != lastPhase else { return }
        lastPhase = phase
        onPhase(phase)
    }

    private func answered(_ results: [String: Value]) {
        let result = RequestResult(
            permissions: order.permissions, statuses: results["statuses"]?.statuses ?? [:],
            retryAfter: results["retry_after"]?.uint32Value.map(Int.init),
            heldSeconds: results["hold"]?.uint32Value.map(Int.init) ?? 0)
        end()
        onPhase(.settled(result))
        finish(.success(result))
    }

    private func failed(_ results: [String: Value]) {
        // The daemon is being stopped: repeat the request when the next one starts.
        if results["stopping"]?.boolValue == true {
            wasAccepted = true
            state = .lost
            return
        }
        let kind = results["error"]?.stringValue.flatMap(ErrorKind.init(name:))
        fail(
            ClientError(
                kind: kind.map { .daemon($0) } ?? .unexpected,
                message: results["message"]?.stringValue ?? "the request failed",
                isRetryable: results["retryable"]?.boolValue ?? false))
    }

    private func daemonChanged(_ isThere: Bool) {
        switch state {
        case .lost where isThere: ask()
        // The daemon crashed: this call makes the bus start it again. A daemon that was stopped is in the state `lost`
        // already, and is not started against the user's will.
        case .asked(let object) where !isThere && object.isMade:
            state = .lost
            lastPhase = nil
            ask()
        case .connecting, .asked, .lost, .over: break
        }
    }

    private func fail(_ error: ClientError) {
        end()
        finish(.failure(error))
    }

    private func end() {
        state = .over
        moves?.cancel()
        moves = nil
        listener?.cancel()
        listener = nil
    }
}

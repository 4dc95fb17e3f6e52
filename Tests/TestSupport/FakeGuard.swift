// A permd-guard, or a permd-gate, that a test controls, on a bus of its own that replaces the system bus.

package import DBus
package import PermissionModel
package import PermissionTestKit

/// ```swift
/// let deviceGuard = try await FakeGuard()
/// let permd = try await PermdProcess(environment: deviceGuard.environment)
/// try await deviceGuard.calls.first("the registration") { $0 == "Register" }
/// deviceGuard.ask(1, about: pidfd)
/// ```
@LoopActor
package final class FakeGuard {
    package let bus: PrivateBus
    private let name: String
    private var service: FakeService?
    /// The calls, each as `Member argument argument …`.
    package let calls = EventLog<String>()
    /// The unique names that have registered.
    package let registered = EventLog<String>()
    /// What permd says of each question and withdrawal, as `NUMBER` or `NUMBER ERROR`.
    package let receipts = EventLog<String>()
    /// The values of Cuts that were read.
    package let cutsRead = EventLog<Bool>()
    /// The errors with which the next calls of Register are refused.
    package var refusals: [ErrorKind] = []
    package var cuts = false
    package var problems: [String] = []
    package var version = "1"

    package init(
        _ kind: PrivateBus.Kind = .daemon, isThere: Bool = true, name: String = BusNames.guardService
    ) async throws {
        self.name = name
        bus = try await PrivateBus(kind)
        if isThere { try appear() }
    }

    /// The environment in which permd and permctl use this bus as the system bus.
    package var environment: [String: String] { ["DBUS_SYSTEM_BUS_ADDRESS": bus.address] }

    package var address: String { bus.address }

    /// Takes the name, on a new connection.
    package func appear() throws {
        let service = try FakeService(on: bus)
        service.add(
            BusNames.guardInterface, at: BusNames.guardObject,
            [
                method("Register", [:]), method("Answer", ["request": "t", "answer": "s"]),
                method("Recheck", ["permission": "s"]),
            ],
            properties: [
                Property("Version", "s", .never) { [unowned self] _ in .string(version) },
                Property("Cuts", "b", .silent) { [unowned self] _ in
                    cutsRead.add(cuts)
                    return .bool(cuts)
                },
                Property("Problems", "as", .silent) { [unowned self] _ in .strings(problems) },
            ])
        try service.own(name)
        self.service = service
    }

    package func restart() async throws {
        await leave()
        try appear()
    }

    /// Ends the guard and its bus.
    package func stop() async {
        await leave()
        await bus.end()
    }

    private func leave() async {
        await service?.end()
        service = nil
    }

    private func method(_ name: String, _ inputs: Arguments) -> Method {
        Method(name: name, inputs: inputs, outputs: [:]) { [unowned self] call in
            let texts = call.arguments.map { $0.stringValue ?? $0.uint64Value.map(String.init) ?? "?" }
            calls.add(([name] + texts).joined(separator: " "))
            if name == "Register", !refusals.isEmpty {
                let refusal = refusals.removeFirst()
                return call.fail(name: refusal.name, body: [.string(refusal.text), .bool(refusal.isRetryable)])
            }
            if name == "Register" { registered.add(call.sender) }
            call.reply()
        }
    }

    // MARK: Questions

    package func ask(
        _ number: UInt64, about process: UnixFD, _ permission: Permission = .camera, device: UInt64 = 0,
        program: String = "", waits: Bool = true
    ) {
        send(
            "Ask",
            [
                .uint64(number), .unixFD(process), .string(permission.rawValue), .uint64(device), .string(program),
                .bool(waits),
            ])
    }

    package func withdraw(_ number: UInt64) { send("Withdraw", [.uint64(number)]) }

    /// Calls the permd that registered last.
    ///
    /// - Parameter connection: Of somebody else than the guard.
    package func send(_ member: String, _ body: [Value], from connection: Connection? = nil) {
        guard let permd = registered.all.last, let connection = connection ?? service?.connection else { return }
        let number = body.first?.uint64Value.map(String.init) ?? "?"
        connection.call(
            .call(
                destination: permd, path: BusNames.guardClientObject, interface: BusNames.guardClientInterface,
                member: member, body)
        ) { [receipts] result in
            switch result {
            case .success: receipts.add(number)
            case .failure(let error): receipts.add("\(number) \(error.name)")
            }
        }
    }

    /// A connection that does not own the name.
    package func stranger() throws(BusError) -> Connection { try bus.connect() }

    /// Waits for the answer to a question.
    package func answer(_ number: UInt64) async throws -> String {
        let prefix = "Answer \(number) "
        let call = try await calls.first("the answer to \(number)") { $0.hasPrefix(prefix) }
        return String(call.dropFirst(prefix.count))
    }

    /// The answers until now, each as `NUMBER ANSWER`.
    package var answers: [String] { calls.all.filter { $0.hasPrefix("Answer ") }.map { String($0.dropFirst(7)) } }

    /// The calls of Recheck until now, with what each is about.
    package var rechecks: [String] { calls.all.filter { $0.hasPrefix("Recheck ") }.map { String($0.dropFirst(8)) } }
}

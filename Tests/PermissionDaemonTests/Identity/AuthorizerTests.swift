// Who may call which method, and what may wait while a caller is being identified.

import DBus
import PermissionModel
import PermissionTestKit
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct AuthorizerTests {
    /// A service with a method for each class of callers, on a bus with one client.
    @LoopActor
    private final class Bench {
        static let interface = "org.example.Guarded1"
        static let rows: [(name: String, callers: CallerClass?)] = [
            ("Apps", .apps), ("Unsandboxed", .unsandboxed), ("Owner", .owner), ("Portal", .portal), ("Nobody", nil),
            ("Unknown", CallerClass(rawValue: "a class that no authorizer knows")),
        ]

        let bus: PrivateBus
        let service: Connection
        let client: Connection
        let identifier = FakeIdentifier()
        private let server: ObjectServer
        private let authorizer: Authorizer

        init() async throws {
            bus = try await PrivateBus()
            service = try bus.connect()
            client = try bus.connect()
            server = ObjectServer(connection: service) { call, text in call.fail(.invalidArguments, text) }
            let methods = Bench.rows.map { row in
                Method(
                    name: row.name, inputs: ["text": "s"], outputs: ["text": "s"],
                    callers: row.callers
                ) { call in call.reply(call.arguments) }
            }
            server.add(Interface(name: Bench.interface, methods: methods), at: "/")
            authorizer = Authorizer(connection: service, identifier: identifier, log: quietLog)
            authorizer.authorizeCalls(of: server)
        }

        func message(_ method: String, _ text: String = "") -> Message {
            .call(
                destination: service.uniqueName, path: "/", interface: Bench.interface, member: method, [.string(text)])
        }

        /// `ok`, or the name of the error.
        func call(_ method: String, _ text: String = "") async -> String {
            do throws(BusError) {
                _ = try await client.call(message(method, text), timeoutMilliseconds: nil)
                return "ok"
            } catch {
                return error.name
            }
        }

        /// Calls without waiting; the answers arrive in the log.
        func send(_ method: String, _ text: String, _ answers: EventLog<String>) {
            client.call(message(method, text), timeoutMilliseconds: nil) { result in
                switch result {
                case .success(let reply): answers.add(reply.body[0].stringValue ?? "")
                case .failure(let error): answers.add(error.name)
                }
            }
        }

        func end() async {
            client.close()
            service.close()
            await bus.end()
        }
    }

    private nonisolated static let denied = ErrorKind.accessDenied.name
    /// Of a row without callers.
    private nonisolated static let missing = BusError.Name.accessDenied
    private nonisolated static let limit = ErrorKind.limitExceeded.name

    @Test(arguments: [
        ("exe:/usr/bin/app", false, ["ok", "ok", "ok", denied, missing, denied]),
        ("flatpak:org.example.App", false, ["ok", denied, "ok", denied, missing, denied]),
        ("snap:app", false, ["ok", denied, "ok", denied, missing, denied]),
        ("exe:/usr/bin/podman", true, ["ok", denied, "ok", denied, missing, denied]),
        (nil, false, [denied, denied, "ok", denied, missing, denied]),
    ])
    func everyClassAdmitsItsCallers(_ app: String?, _ mayBeSandboxed: Bool, _ expected: [String]) async throws {
        let bench = try await Bench()
        if let app { bench.identifier.add(bench.client, app, mayBeSandboxed: mayBeSandboxed) }
        // The second round finds a caller that is identified already.
        for _ in 0..<2 {
            var answers: [String] = []
            for row in Bench.rows { answers.append(await bench.call(row.name)) }
            #expect(answers == expected)
        }
        await bench.end()
    }

    @Test func onlyTheOwnerOfThePortalsNameIsThePortal() async throws {
        let bench = try await Bench()
        bench.identifier.add(bench.client, "exe:/usr/libexec/xdg-desktop-portal")
        #expect(await bench.call("Portal") == AuthorizerTests.denied)
        #expect(try bench.client.requestName(BusNames.portal))
        #expect(await bench.call("Portal") == "ok")
        // A sandboxed program that owns the name is not believed.
        bench.identifier.add(bench.client, "flatpak:org.example.App")
        #expect(await bench.call("Portal") == AuthorizerTests.denied)
        await bench.end()
    }

    @Test func callsKeepTheirOrderWhileTheCallerIsIdentified() async throws {
        let bench = try await Bench()
        bench.identifier.add(bench.client, "exe:/usr/bin/app")
        bench.identifier.isSlow = true
        let answers = EventLog<String>()
        for number in 0..<10 { bench.send(number % 2 == 0 ? "Apps" : "Owner", "\(number)", answers) }
        _ = try await bench.identifier.asked.wait(for: 10)
        #expect(answers.all.isEmpty)
        bench.identifier.finish()
        #expect(try await answers.wait(for: 10) == (0..<10).map(String.init))
        await bench.end()
    }

    @Test func aCallerWhoIsNotIdentifiedHasFewCallsWaiting() async throws {
        let bench = try await Bench()
        bench.identifier.add(bench.client, "exe:/usr/bin/app")
        bench.identifier.isSlow = true
        let answers = EventLog<String>()
        for number in 0..<Authorizer.waitingCalls + 3 { bench.send("Apps", "\(number)", answers) }
        // Refusals do not wait for the identity.
        #expect(try await answers.wait(for: 3) == [String](repeating: AuthorizerTests.limit, count: 3))
        bench.identifier.finish()
        let kept = try await answers.wait(for: Authorizer.waitingCalls + 3).dropFirst(3)
        #expect(Array(kept) == (0..<Authorizer.waitingCalls).map(String.init))
        #expect(await bench.call("Apps") == "ok")
        await bench.end()
    }

    @Test func callsThatWaitTakeBoundedMemory() async throws {
        let bench = try await Bench()
        bench.identifier.add(bench.client, "exe:/usr/bin/app")
        let large = String(repeating: "a", count: 1 << 19)
        // Each is charged for its header and its only value as well.
        let fitting = WaitingCalls.maximumBytes / (large.utf8.count + 256 + WaitingCalls.callBytes)
        let stranger = try bench.bus.connect()
        bench.identifier.add(stranger, "exe:/usr/bin/stranger")
        for round in 1...2 {
            bench.identifier.isSlow = true
            let answers = EventLog<String>()
            for number in 1...fitting {
                bench.send("Apps", large, answers)
                // One at a time: the connection bounds what waits for its turn as well.
                _ = try await bench.identifier.asked.wait(for: (round - 1) * (fitting + 1) + number)
            }
            bench.send("Apps", large, answers)
            #expect(try await answers.wait(for: 1) == [AuthorizerTests.limit])
            // A small first call of another program still waits for its identity.
            let answer = stranger.call(bench.message("Apps", "small"), timeoutMilliseconds: nil) { _ in }
            _ = try await bench.identifier.asked.wait(for: round * (fitting + 1))
            answer.cancel()
            bench.identifier.finish()
            let kept = try await answers.wait(for: fitting + 1).dropFirst()
            // Once the app is known, its calls are bounded like those of any other.
            #expect(kept.allSatisfy { $0 == AuthorizerTests.limit || !$0.isEmpty && large.hasPrefix($0) })
            #expect(kept.count { $0 != AuthorizerTests.limit } >= 4)
            // Calls that have been answered no longer count.
            bench.identifier.forget()
        }
        await bench.end()
    }
}

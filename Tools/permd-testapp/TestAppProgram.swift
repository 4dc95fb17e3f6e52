// Reads commands and prints answers and signals, one per line: the contract as an app sees it.

import DBus
import Glibc
import PermissionModel

/// `NUMBER COMMAND …` is answered with `NUMBER ok …` or `NUMBER ERROR retryable|final: MESSAGE`:
///
///     request TOKEN PERMISSION,… [hold=SECONDS] [interactive=no] [explain] [reason=TEXT]
///     close TOKEN
///     properties TOKEN
///     status PERMISSION,…
///     open PERMISSION [DEVICE]   keeps the descriptor
///     release
///     settings                   opens its page of the settings program
///     pid                        returns the process ID
///     hold PATH                  opens a device node, for reading and writing
///     probe PATH                 opens a device node three times, for 20 milliseconds each
///     drop                       closes what hold and open opened
///     call INTERFACE MEMBER
///     get INTERFACE PROPERTY
///     use APP PERMISSION DEVICE  reports a use of a sandboxed app, as an enforcement point
///     camera TOKEN               requests the camera through the desktop portal, like other apps
///     close-camera TOKEN
///     open-camera
///     be-store APP WORD          owns the permission store's name and returns WORD for APP and the camera
///     be-daemon                  owns permd's name, prompts each agent that registers, returns empty lists
///     be-portal                  owns the portal's name and calls AccessDialog of permd's backend
///
/// It also prints `prompted OUTCOME` for `be-daemon`, `response TOKEN CODE …`, `state TOKEN …` and `status PERMISSION
/// …`.
@LoopActor
final class TestAppProgram {
    private let connection: Connection
    private var input: [UInt8] = []
    private var watch: WatchToken?
    private var nodes: [Int32] = []

    nonisolated static func main() {
        Loop.shared.adoptCurrentThread()
        LoopActor.assumeIsolated {
            do {
                let program = TestAppProgram(try Connection.open(.session))
                program.start()
            } catch {
                print("error \(error)")
                exit(69)
            }
        }
        Loop.shared.run()
    }

    private init(_ connection: Connection) {
        self.connection = connection
    }

    private func start() {
        // Unicast signals arrive without a match rule.
        connection.onSignal(addMatch: false) { [self] in signalled($0) }
        watch = Loop.shared.watch(unowned: STDIN_FILENO, .readable) { [self] _ in read() }
        connection.onDisconnect { exit(0) }
        say("ready")
    }

    private func say(_ line: String) {
        var text = line.replacing("\n", with: " ") + "\n"
        text.withUTF8 { _ = write(STDOUT_FILENO, $0.baseAddress, $0.count) }
    }

    private func read() {
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let count = Glibc.read(STDIN_FILENO, &buffer, buffer.count)
        guard count > 0 else { exit(0) }
        input += buffer[..<count]
        while let end = input.firstIndex(of: UInt8(ascii: "\n")) {
            let line = String(decoding: input[..<end], as: UTF8.self)
            input.removeSubrange(...end)
            run(line.split(separator: " ").map(String.init))
        }
    }

    // MARK: Commands

    private func run(_ words: [String]) {
        guard words.count >= 2 else { return }
        let number = words[0]
        let arguments = Array(words.dropFirst(2))
        switch (words[1], arguments.count) {
        case ("request", 2...): call(number, access("RequestAccess", request(arguments)))
        case ("status", 1): call(number, access("GetStatus", [permissions(arguments[0])]))
        case ("open", 1...):
            let device = arguments.dropFirst().joined(separator: " ")
            call(number, access("OpenDevice", [.string(arguments[0]), .string(device), .properties([:])]))
        case ("pid", 0): say("\(number) ok \(getpid())")
        case ("settings", 0):
            call(number, access("OpenSettings", [.properties(["activation_token": .string("token")])]))
        case ("release", 0): call(number, access("ReleaseHold", []))
        case ("hold", 1):
            let node = openNode(arguments[0])
            if node >= 0 { nodes.append(node) }
            say("\(number) \(node >= 0 ? "ok" : "failed \(errno)")")
        case ("probe", 1):
            // In one go: under load, more than the time of a probe may pass between two commands.
            var opened = 0
            for _ in 0..<3 {
                let node = openNode(arguments[0])
                guard node >= 0 else { break }
                opened += 1
                usleep(20_000)
                Glibc.close(node)
            }
            say("\(number) \(opened == 3 ? "ok" : "failed \(errno)")")
        case ("drop", 0):
            for node in nodes { Glibc.close(node) }
            nodes = []
            say("\(number) ok")
        case ("close", 1): call(number, ofRequest(arguments[0], BusNames.request, "Close", []))
        case ("properties", 1):
            call(
                number,
                ofRequest(
                    arguments[0], StandardInterfaces.properties, "GetAll", [.string(BusNames.request)]))
        case ("call", 2):
            call(
                number,
                .call(destination: BusNames.service, path: BusNames.root, interface: arguments[0], member: arguments[1])
            )
        case ("get", 2):
            call(
                number,
                .call(
                    destination: BusNames.service, path: BusNames.root, interface: StandardInterfaces.properties,
                    member: "Get", arguments.map { .string($0) }))
        case ("use", 3...):
            let device = arguments.dropFirst(2).joined(separator: " ")
            call(
                number,
                .call(
                    destination: BusNames.service, path: BusNames.root, interface: BusNames.enforcement,
                    member: "ReportUse",
                    [
                        .variant(.string(arguments[0])), .string(arguments[1]),
                        .properties(["source": .string("pipewire"), "device_name": .string(device)]),
                    ]))
        case ("camera", 1):
            connection.onSignal(sender: BusNames.portal, path: portalRequest(arguments[0]), member: "Response") { _ in }
            call(number, camera("AccessCamera", [.properties(["handle_token": .string(arguments[0])])]))
        case ("close-camera", 1):
            call(
                number,
                .call(
                    destination: BusNames.portal, path: portalRequest(arguments[0]),
                    interface: "org.freedesktop.portal.Request", member: "Close"))
        case ("open-camera", 0): call(number, camera("OpenPipeWireRemote", [.properties([:])]))
        case ("run", 1...): run(number, arguments.joined(separator: " "))
        case ("be-store", 2): beStore(number, arguments[0], arguments[1])
        case ("be-portal", 0): bePortal(number)
        case ("be-agent", 0): say("\(number) \(own(BusNames.agentService) ? "ok" : "taken")")
        case ("be-daemon", 0): beDaemon(number)
        default: say("\(number) unknown command")
        }
    }

    private func openNode(_ path: String) -> Int32 {
        Glibc.open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)
    }

    private func camera(_ member: String, _ body: [Value]) -> Message {
        .call(
            destination: BusNames.portal, path: BusNames.portalRoot, interface: "org.freedesktop.portal.Camera",
            member: member, body)
    }

    /// Runs a shell command with the descriptor that was received last as its descriptor 3.
    private func run(_ number: String, _ command: String) {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, nodes.last ?? -1, 3)
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        let words = ["sh", "-c", command].map { (word: String) in strdup(word) }
        defer { for word in words { free(word) } }
        var child: pid_t = 0
        say("\(number) \(posix_spawnp(&child, "sh", &actions, nil, words + [nil], environ) == 0 ? "ok" : "failed")")
    }

    private func own(_ name: String) -> Bool { (try? connection.requestName(name)) == true }

    private func beStore(_ number: String, _ app: String, _ word: String) {
        let entry = Value.dictionary(key: "s", value: "as", [DictionaryEntry(.string(app), .strings([word]))])
        connection.methodHandler = { [connection] call in
            guard call.member == "Lookup", call.body.last == .string("camera") else {
                return connection.reply(to: call, error: "org.freedesktop.portal.Error.NotFound", [.string("")])
            }
            connection.reply(to: call, [entry, .variant(.byte(0))])
        }
        say("\(number) \(own(BusNames.portalStore) ? "ok" : "taken")")
    }

    private func bePortal(_ number: String) {
        guard own(BusNames.portal) else { return say("\(number) taken") }
        let texts = ["", "", "A title", "A subtitle", "A body"].map { Value.string($0) }
        let options = Value.properties(["icon": .string("camera-web-symbolic")])
        call(
            number,
            .call(
                destination: BusNames.portalBackend, path: BusNames.portalRoot, interface: BusNames.portalAccess,
                member: "AccessDialog", [.objectPath(portalRequest("t"))] + texts + [options]))
    }

    private func beDaemon(_ number: String) {
        connection.methodHandler = { [self] call in
            guard call.member == "RegisterAgent", let path = call.body.first?.objectPathValue else {
                return connection.reply(to: call, [.rows([])])
            }
            connection.reply(to: call)
            let details: [String: Value] = [
                "app": .string("exe:/usr/bin/firefox"), "durations": .strings(["once", "always"]),
                "items": .rows([["permission": .string("camera")]]),
            ]
            let prompt = Message.call(
                destination: call.sender ?? "", path: path, interface: BusNames.agent, member: "Prompt",
                [.objectPath("/org/permd/prompt/1"), .properties(details)])
            connection.call(prompt) { [self] reply in
                switch reply {
                case .success(let message): say("prompted \(message.body.first.map(TestAppProgram.text) ?? "")")
                case .failure(let error): say("prompted \(error.name)")
                }
            }
        }
        say("\(number) \(own(BusNames.service) ? "ok" : "taken")")
    }

    private func portalRequest(_ token: String) -> String {
        let sender = String(connection.uniqueName.dropFirst().map { $0 == "." ? "_" : $0 })
        return "\(BusNames.portalRequestRoot)/\(sender)/\(token)"
    }

    private func request(_ arguments: [String]) -> [Value] {
        var options: [String: Value] = ["handle_token": .string(arguments[0])]
        for option in arguments.dropFirst(2) {
            let parts = option.split(separator: "=", maxSplits: 1).map(String.init)
            switch parts[0] {
            case "hold": options["hold"] = .uint32(UInt32(parts.last ?? "") ?? 15)
            case "interactive": options["interactive"] = .bool(parts.last != "no")
            case "explain": options["explanation"] = .structure([.string("A title"), .string("A body")])
            case "reason":
                options["reasons"] = .stringTable(
                    arguments[1].split(separator: ",").map { (String($0), parts.last ?? "") })
            default: break
            }
        }
        return [permissions(arguments[1]), .properties(options)]
    }

    private func permissions(_ text: String) -> Value { .strings(text.split(separator: ",").map(String.init)) }

    private func access(_ member: String, _ body: [Value]) -> Message {
        .call(destination: BusNames.service, path: BusNames.root, interface: BusNames.access, member: member, body)
    }

    private func ofRequest(_ token: String, _ interface: String, _ member: String, _ body: [Value]) -> Message {
        .call(
            destination: BusNames.service, path: BusNames.requestPath(owner: connection.uniqueName, token: token),
            interface: interface, member: member, body)
    }

    private func call(_ number: String, _ message: Message) {
        connection.call(message) { [self] reply in
            switch reply {
            case .success(let message):
                say("\(number) ok" + message.body.map { " " + TestAppProgram.text($0) }.joined())
                nodes += message.body.compactMap { $0.unixFDValue?.take() }
            case .failure(let error):
                let name = error.name.split(separator: ".").last ?? ""
                let flag = error.body.count > 1 ? error.body[1].boolValue == true ? " retryable" : " final" : ""
                say("\(number) \(name)\(flag): \(error.message)")
            }
        }
    }

    // MARK: Signals

    private func signalled(_ message: Message) {
        let token = message.path?.split(separator: "/").last.map(String.init) ?? ""
        switch message.member {
        case "Response": say("response \(token)" + message.body.map { " " + TestAppProgram.text($0) }.joined())
        case "PropertiesChanged":
            say("state \(token) \(message.body.dropFirst().prefix(1).map(TestAppProgram.text).joined())")
        case "StatusChanged": say("status" + message.body.map { " " + TestAppProgram.text($0) }.joined())
        default: break
        }
    }

    /// Formats a value for comparison in tests; dictionaries as `key=value`, sorted by key.
    private static func text(_ value: Value) -> String {
        switch value {
        case .string(let text), .objectPath(let text): return text
        case .uint32(let number): return String(number)
        case .uint64(let number): return String(number)
        case .bool(let flag): return flag ? "yes" : "no"
        case .variant(let inner): return text(inner)
        case .unixFD(let fd):
            var status = stat()
            return fstat(fd.raw, &status) == 0 ? "descriptor" : "none"
        case .array(_, let elements): return elements.map(text).joined(separator: ",")
        case .dictionary(_, _, let entries):
            // The seconds that are left depend on when the test runs.
            return entries.map { text($0.key) == "retry_after" ? "paused" : "\(text($0.key))=\(text($0.value))" }
                .sorted().joined(separator: " ")
        default: return value.signature
        }
    }
}

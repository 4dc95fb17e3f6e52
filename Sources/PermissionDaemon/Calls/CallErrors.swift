// What the handlers of calls have in common.

import DBus
import PermissionModel
import System

extension Connection {
    func fail(_ call: Message, _ error: PermissionError) { reply(to: call, error: error.kind.name, error.arguments) }
}

extension MethodCall {
    func fail(_ kind: ErrorKind, _ message: String? = nil) {
        fail(PermissionError(kind, message))
    }

    func answer(_ result: Result<[Value], PermissionError>) {
        switch result {
        case .success(let values): reply(values)
        case .failure(let error): fail(error)
        }
    }

    /// Replies with the statuses of permissions, `a{ss}`.
    func replyStatuses(of permissions: [Permission], _ status: @LoopActor (Permission) -> Status) {
        reply(.stringTable(permissions.map { ($0.rawValue, status($0).rawValue) }))
    }

    /// A string argument; the types of the arguments were checked before the handler runs.
    func string(_ index: Int) -> String { arguments[index].stringValue ?? "" }
}

extension Method {
    /// A method that replies with the error that `body` throws.
    init(
        _ name: String, _ inputs: Arguments = [:], returns outputs: Arguments = [:], callers: CallerClass,
        takesDescriptors: Bool = false, options: Set<String> = [],
        _ body: @escaping @LoopActor (MethodCall) throws(PermissionError) -> Void
    ) {
        self.init(
            name: name, inputs: inputs, outputs: outputs, callers: callers, takesDescriptors: takesDescriptors,
            options: options
        ) { call in
            do throws(PermissionError) { try body(call) } catch { call.fail(error) }
        }
    }
}

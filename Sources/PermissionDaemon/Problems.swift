// Collects the current problems of all components.

import PermissionCore
import PermissionModel
import PolicyFiles

extension Broker {
    func problems() -> [Problem] {
        var problems = store.queue.problems.map {
            Problem(
                about: "store", text: $0,
                advice: "check the folder's free space and owner; permctl export saves the current decisions")
        }
        problems += policy.problems.map {
            Problem(
                about: $0.file.split(separator: "/").contains { $0 == "policy.d" } ? "policy" : "settings",
                file: $0.file, line: $0.line,
                text: SafeText.line($0.message), advice: "correct the file; it is read again when it changes")
        }
        problems += devices.problems.map {
            Problem(about: "devices", text: $0, advice: "permctl devices lists the known devices")
        }
        problems += usage.problems.map {
            Problem(about: "usage", text: $0, advice: "permd tries again; if rights are missing, log in on the seat")
        }
        return problems
    }
}

// What is wrong right now and what to do about it: the rows behind `permctl doctor`.

import PermissionCore
import PermissionModel

struct Problem {
    let about: String
    var file = ""
    var line = 0
    let text: String
    let advice: String
}

extension Broker {
    func problems() -> [Problem] {
        store.checkIntegrity()
        var problems = store.findings.map {
            Problem(
                about: "store", text: $0,
                advice: "look at the folder's free space and owner; permctl export keeps what is there")
        }
        problems += policy.problems.map {
            Problem(
                about: $0.file.split(separator: "/").contains { $0 == "policy.d" } ? "policy" : "settings",
                file: $0.file, line: $0.line,
                text: SafeText.line($0.message), advice: "mend it; it is read again when it changes")
        }
        problems += devices.problems.map {
            Problem(about: "devices", text: $0, advice: "permctl devices shows what is there")
        }
        return problems
    }
}

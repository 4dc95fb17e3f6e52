// A parsed command line of the input.

struct MockFailure: Error {
    let text: String
    init(_ text: String) { self.text = text }
}

enum MockCommand {
    case add(MockKind, Int, name: String?, isAnnounced: Bool)
    /// A device whose node leads to a real character device with that number, so that opening it can be observed.
    case link(MockKind, Int, number: String, target: String)
    case remove(MockKind, Int)
    case change(MockKind, Int)
    case block(Int, Bool)
    case openable(String, Bool)

    init(_ line: String) throws(MockFailure) {
        let words = line.split(separator: " ").map(String.init)
        switch words.first {
        case "add" where words.count >= 3, "slip" where words.count >= 3:
            let name = words.count > 3 ? words[3...].joined(separator: " ") : nil
            self = .add(
                try MockCommand.kind(words[1]), try MockCommand.number(words[2]), name: name,
                isAnnounced: words[0] == "add")
        case "link" where words.count == 5:
            self = .link(
                try MockCommand.kind(words[1]), try MockCommand.number(words[2]), number: words[3], target: words[4])
        case "remove" where words.count == 3:
            self = .remove(try MockCommand.kind(words[1]), try MockCommand.number(words[2]))
        case "change" where words.count == 3:
            self = .change(try MockCommand.kind(words[1]), try MockCommand.number(words[2]))
        case "rfkill" where words.count == 3 && ["on", "off"].contains(words[2]):
            self = .block(try MockCommand.number(words[1]), words[2] == "on")
        case "unreadable" where words.count == 2: self = .openable(words[1], false)
        case "readable" where words.count == 2: self = .openable(words[1], true)
        default: throw MockFailure("unknown command: \(line)")
        }
    }

    /// Runs the command. Returns the added node, or an empty string.
    func run(on bench: MockBench) throws(MockFailure) -> String {
        switch self {
        case .add(let kind, let number, let name, let isAnnounced):
            return try isAnnounced ? bench.add(kind, number, name: name) : bench.slip(kind, number, name: name)
        case .link(let kind, let number, let device, let target):
            return try bench.add(kind, number, device: device, linkedTo: target)
        case .remove(let kind, let number): try bench.remove(kind, number)
        case .change(let kind, let number): try bench.change(kind, number)
        case .block(let number, let isBlocked): try bench.block(number, isBlocked)
        case .openable(let node, let isOpenable): try bench.setOpenable(node, isOpenable)
        }
        return ""
    }

    private static func kind(_ word: String) throws(MockFailure) -> MockKind {
        guard let kind = MockKind(rawValue: word) else { throw MockFailure("unknown kind of device: \(word)") }
        return kind
    }

    private static func number(_ word: String) throws(MockFailure) -> Int {
        guard let number = Int(word), (0..<32).contains(number) else { throw MockFailure("not in 0 to 31: \(word)") }
        return number
    }
}

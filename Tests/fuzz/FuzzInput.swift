// The libFuzzer entry point: passes arbitrary bytes to the decoders of untrusted data. libFuzzer provides main.

import CDBus
import PermissionModel
import PolicyFiles
import System

@testable import DBus
@testable import GateRules
@testable import PermissionDaemon

/// The first byte selects the decoder of the rest.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ bytes: UnsafePointer<UInt8>?, _ size: Int) -> Int32 {
    guard size > 0, let bytes else { return 0 }
    let rest = UnsafeBufferPointer(start: bytes + 1, count: size - 1)
    switch bytes[0] % 7 {
    case 0, 1: readMessage(rest)
    case 2: readRules(String(decoding: rest, as: UTF8.self))
    case 3: readIdentity(String(decoding: rest, as: UTF8.self), rest)
    case 5:
        Loop.shared.adoptCurrentThread()
        // SAFETY: used within this call only, on this thread.
        nonisolated(unsafe) let rest = rest
        LoopActor.assumeIsolated { readRelayed(rest) }
    case 6: readNodes(String(decoding: rest, as: UTF8.self))
    default: readEntry(String(decoding: rest, as: UTF8.self))
    }
    return 0
}

/// The caller releases the message.
private func demarshaled(_ bytes: UnsafeBufferPointer<UInt8>) -> OpaquePointer? {
    bytes.withMemoryRebound(to: CChar.self) { dbus_message_demarshal($0.baseAddress, Int32($0.count), nil) }
}

/// A decoded message has the signature of its body, and keeps it when encoded and decoded again.
private func readMessage(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let raw = demarshaled(bytes) else { return }
    defer { dbus_message_unref(raw) }
    guard let message = read(raw) else { return }
    let signature = message.body.map(\.signature).joined()
    precondition(signature == message.signature, "a body of \(message.signature) was read as \(signature)")
    if let encoded = try? message.encoded() {
        defer { dbus_message_unref(encoded) }
        let again = read(encoded)
        precondition(again?.signature == message.signature, "it was decoded again as \(again?.signature ?? "nothing")")
    }
}

/// What the gate reads of a message that it passes on, and the copies that it makes.
@LoopActor
private func readRelayed(_ bytes: UnsafeBufferPointer<UInt8>) {
    guard let raw = demarshaled(bytes) else { return }
    defer { dbus_message_unref(raw) }
    let message = RelayMessage(raw)
    let header = message.header
    for service in GatedService.all {
        let call = GatedCall(
            path: header.path ?? "", interface: header.interface, member: header.member ?? "",
            firstText: message.firstText)
        let tells = service.tells(
            path: call.path, interface: call.interface ?? "", member: call.member, firstText: call.firstText)
        precondition(!service.isTelling(call.path) || tells, "a signal of \(call.path) goes to everybody")
        let asks = service.rule(for: call) == .ask || call.interface == StandardInterfaces.peer
        precondition(!service.isTelling(call.path) || asks, "a call about \(call.path) asks nobody")
    }
    let body = message.body
    precondition(body == nil || message.fits(.max), "what was read does not fit")
    guard let body, let copy = message.copy(body: body) else { return }
    precondition(copy.header.signature == header.signature, "a copy has the signature \(copy.header.signature)")
}

/// Nothing is added but the end of the description.
private func readNodes(_ text: String) {
    let view = withoutNodes(text) { $0.hasPrefix("dev_") }
    precondition(view.utf8.count <= text.utf8.count + "</node>\n".utf8.count, "\(text) became \(view)")
    precondition(text.contains("<node name=\"dev_") || view == text, "\(text) became \(view)")
}

private func read(_ raw: OpaquePointer) -> Message? {
    var message = Message.header(of: raw)
    let budget = DecodingBudget(DecodingBudget.strangers, takesDescriptors: true)
    return message.readBody(of: raw, within: budget) == nil ? message : nil
}

/// The line numbers of sections, keys and errors are within the file.
private func readRules(_ text: String) {
    let lines = text.utf8.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).count
    do throws(FileProblem) {
        let file = try KeyFile(administrators: text)
        for section in file.sections {
            precondition((1...lines).contains(section.line), "[\(section.name)] on line \(section.line) of \(lines)")
            for pair in section.pairs { precondition((1...lines).contains(pair.line) && !pair.value.isEmpty) }
        }
    } catch {
        precondition((0...lines).contains(error.line) && !error.message.isEmpty, "line \(error.line) of \(lines)")
    }
}

/// An identity keeps the text from which it was parsed; every absolute path makes an identity that can be parsed.
private func readIdentity(_ text: String, _ bytes: UnsafeBufferPointer<UInt8>) {
    if let app = AppID(text) {
        precondition(app.description == text && AppID(app.description) == app, "\(text) is parsed as \(app)")
    }
    guard bytes.first == UInt8(ascii: "/"), !bytes.contains(0), bytes.count < 4096 else { return }
    let app = AppID.executable(Array(bytes))
    precondition(AppID(app.description) == app, "\(app) cannot be parsed")
}

private func readEntry(_ text: String) {
    let fallback = AppEntry(name: "fallback", icon: "")
    let entry = AppDirectory.parse(Array(text.utf8), language: "de_AT", fallback)
    precondition(!entry.name.isEmpty, "an app without a name")
}

// Which identity the programs of a file have when they run, which is what the kernel says of them.

import PermissionClient
import System

enum ProgramFile {
    /// A program, or a script with its interpreter.
    case app(AppID)
    /// A script of a shell. What it starts has identities of its own.
    case wrapper
    /// No program, or one that runs a file that is not named.
    case unknown

    /// In bytes. The kernel reads as many of a script to find its interpreter (BINPRM_BUF_SIZE).
    private static let scriptStart = 256

    /// - Parameters:
    ///   - path: Of the file, without links.
    ///   - arguments: What the program is started with.
    init(_ path: [UInt8], _ arguments: [String] = []) {
        let start = (path + [0]).withUnsafeBytes {
            RegularFile.start(of: $0.bindMemory(to: CChar.self).baseAddress!, ProgramFile.scriptStart) ?? []
        }
        if start.starts(with: "#!".utf8) {
            self = ProgramFile.script(path, firstLine: start.prefix { $0 != UInt8(ascii: "\n") })
        } else if start.starts(with: [0x7F] + Array("ELF".utf8)) {
            self = ProgramFile.executable(path, arguments.map { Array($0.utf8) })
        } else {
            self = .unknown
        }
    }

    private static func executable(_ path: [UInt8], _ arguments: [[UInt8]]) -> ProgramFile {
        guard let runtime = Runtime(executable: path), !arguments.isEmpty else {
            return .app(.executable(StorePath.withoutVersion(path)))
        }
        let file = runtime.file(in: [path] + arguments).map { String(decoding: $0, as: UTF8.self) }
        guard let file, file.hasPrefix("/"), let real = Folders.realPath(file) else { return .unknown }
        return .app(.executable(StorePath.withoutVersion(path), script: StorePath.withoutVersion(real)))
    }

    /// env(1) looks the interpreter up in `$PATH`.
    private static func script(_ path: [UInt8], firstLine: some Collection<UInt8>) -> ProgramFile {
        let words = firstLine.dropFirst(2).split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
            .map { String(decoding: $0, as: UTF8.self) }
        let names = words.drop { $0.hasSuffix("/env") || $0.hasPrefix("-") || $0.contains("=") }
        guard let interpreter = names.first.flatMap(ProgramEntries.executable),
            let runtime = Runtime(executable: interpreter)
        else { return .unknown }
        if runtime.isShell { return .wrapper }
        return .app(.executable(StorePath.withoutVersion(interpreter), script: StorePath.withoutVersion(path)))
    }
}

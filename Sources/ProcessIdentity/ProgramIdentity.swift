// Which program a process outside sandboxes is: its executable, by what stays the same of its path, and the file that this
// runs if it runs others. What started it, and the unit in which it runs, do not matter.

import Glibc
package import PermissionModel
import System

extension AppIdentity {
    /// The bare name of a runtime if its command line names no file.
    func program(_ pid: Int32) throws(UnknownProcess) -> AppID {
        let path = try reader.executable(pid)
        if let image = image(pid, path) { return .executable(image) }
        guard let runtime = Runtime(executable: path), let file = file(of: runtime, pid) else {
            return .executable(StorePath.withoutVersion(path))
        }
        return .executable(StorePath.withoutVersion(path), script: StorePath.withoutVersion(file))
    }

    /// Whether a path alone tells the program, so that neither its command line nor another file has to be read.
    static func isProgram(_ path: [UInt8]) -> Bool {
        Runtime(executable: path) == nil && !ProcessReader.isMarkedDeleted(path) && mountedImage(path) == nil
    }

    /// Whether an identity stands for more than one program: a runtime without its file, or what has no path of its own. A
    /// decision about it for longer than its process would be about all of them.
    package static func standsForAny(_ app: AppID) -> Bool {
        let paths = app.paths.map { Array($0.utf8) }
        guard paths.count == 1 else { return false }
        return Runtime(executable: paths[0]) != nil || mountedImage(paths[0]) != nil
            || paths[0].starts(with: "/memfd:".utf8)
    }

    /// The ID of the desktop entry of the unit in which a process runs: what the desktop had started; nil if there is none.
    package func desktopEntry(ofUnitOf process: ProcessKey) -> String? {
        guard let groups = try? reader.controlGroups(process.pid), reader.isThere(process) else { return nil }
        return ControlGroups(groups).desktopEntry
    }

    // MARK: Runtimes

    private func file(of runtime: Runtime, _ pid: Int32) -> [UInt8]? {
        guard let arguments = arguments(of: runtime, pid), let file = runtime.file(in: arguments) else { return nil }
        let variables = reader.variables(["PWD", "WINEPREFIX", "HOME"], of: pid)
        let name = runtime.isWine ? WinePath.file(file, prefix: variables["WINEPREFIX"], home: variables["HOME"]) : nil
        let path = name ?? file
        // By the folder in which it was started, which a shell names.
        let folders = [variables["PWD"], try? reader.workingDirectory(pid)].compactMap(\.self)
            .filter { $0.first == UInt8(ascii: "/") }
        let all = path.first == UInt8(ascii: "/") ? [[]] : folders
        let paths = all.map { AppIdentity.absolute(path, from: $0) }.filter { !AppIdentity.isOfKernel($0) }
        if let found = paths.first(where: { reader.kind(of: $0, seenBy: pid) != nil }) {
            let isFile = [S_IFREG, S_IFDIR].contains(reader.kind(of: found, seenBy: pid))
            return isFile ? reader.realPath(found, seenBy: pid) : nil
        }
        // It may have been deleted since then; from where the user could not, nothing is.
        return paths.first { reader.isOfUser($0, seenBy: pid) }
    }

    /// Other processes of an Electron app than its first are started with a type instead of the file, and are its
    /// descendants.
    private func arguments(of runtime: Runtime, _ pid: Int32) -> [[UInt8]]? {
        guard let own = try? reader.arguments(pid), runtime.isElectron, Runtime.isTyped(own) else {
            return try? reader.arguments(pid)
        }
        var child = pid
        for _ in 0..<AppIdentity.mostGenerations {
            guard let parent = try? reader.parent(child), let path = try? reader.executableLink(parent),
                path == (try? reader.executableLink(pid)), let arguments = try? reader.arguments(parent),
                // Else it has exited, and another process may have its ID.
                parent == (try? reader.parent(child))
            else { return nil }
            guard Runtime.isTyped(arguments) else { return arguments }
            child = parent
        }
        return nil
    }

    /// Chromium's renderers are children of one process of its own, and that is one of the first.
    private static let mostGenerations = 4

    /// Descriptors and the like, which differ from one process to the next.
    private static func isOfKernel(_ path: [UInt8]) -> Bool {
        ["/dev/", "/proc/"].contains { path.starts(with: $0.utf8) }
    }

    // MARK: AppImages

    /// The AppImage that a program was started from, which mounts itself at another place each time.
    private func image(_ pid: Int32, _ path: [UInt8]) -> [UInt8]? {
        guard let mount = AppIdentity.mountedImage(path), reader.isFuse(mount, seenBy: pid),
            let image = reader.variables(["APPIMAGE"], of: pid)["APPIMAGE"], image.first == UInt8(ascii: "/"),
            reader.isAppImage(image, seenBy: pid)
        else { return nil }
        return reader.realPath(image, seenBy: pid)
    }

    /// The folder in which an AppImage has mounted itself, such as `/tmp/.mount_aXXXXXX`; nil if a path is in none.
    private static func mountedImage(_ path: [UInt8]) -> [UInt8]? {
        let slash = UInt8(ascii: "/")
        let parts = path.split(separator: slash)
        guard let number = parts.firstIndex(where: { $0.starts(with: ".mount_".utf8) }), number + 1 < parts.count else {
            return nil
        }
        return parts[...number].flatMap { [slash] + $0 }
    }
}

/// The path of a file by its name in Windows.
enum WinePath {
    /// Returns nil for a path of Unix.
    ///
    /// - Parameters:
    ///   - prefix: `$WINEPREFIX`
    ///   - home: `$HOME`
    static func file(_ path: [UInt8], prefix: [UInt8]?, home: [UInt8]?) -> [UInt8]? {
        guard path.count > 3, path[1] == UInt8(ascii: ":"), AppIdentity.isAlphanumeric(path[0]),
            let folder = prefix ?? home.map({ $0 + Array("/.wine".utf8) })
        else { return nil }
        let rest = path[2...].map { $0 == UInt8(ascii: "\\") ? UInt8(ascii: "/") : $0 }
        switch path[0] | 0x20 {
        case UInt8(ascii: "z"): return rest
        case UInt8(ascii: "c"): return folder + Array("/drive_c".utf8) + rest
        case let drive: return folder + Array("/dosdevices/".utf8) + [drive, UInt8(ascii: ":")] + rest
        }
    }
}

extension Caller {
    /// Whether its app stands for more programs than the one that asks.
    package var standsForAny: Bool { mayBeSandboxed || AppIdentity.standsForAny(app) }
}

// The user's login sessions, from logind. Session decisions end with the last one.

import CSystemd
import DBus
import Glibc
import Logging

@LoopActor
final class LoginSessions {
    /// Called with the first list, and with each other one.
    private let onChange: @LoopActor ([String]) -> Void
    private var current: [String]?
    /// Milliseconds until sessions are listed again after a failure.
    private static let retryTime: Int64 = 10_000
    private var monitor: OpaquePointer?
    private var watch: WatchToken?
    private let list: @LoopActor () -> [String]?

    /// Without logind there are no sessions, and session decisions end when $XDG_RUNTIME_DIR is removed.
    init(
        log: Logger, list: @escaping @LoopActor () -> [String]? = LoginSessions.userSessions,
        onChange: @escaping @LoopActor ([String]) -> Void
    ) {
        self.list = list
        self.onChange = onChange
        guard sd_login_monitor_new("session", &monitor) >= 0, let monitor else {
            log.info("logind is not available: session decisions hold until XDG_RUNTIME_DIR is removed")
            return
        }
        let descriptor = sd_login_monitor_get_fd(monitor)
        watch = Loop.shared.watch(unowned: descriptor, .readable) { [weak self] _ in self?.readSessions() }
        readSessions()
    }

    isolated deinit {
        watch?.cancel()
        sd_login_monitor_unref(monitor)
    }

    func readSessions() {
        sd_login_monitor_flush(monitor)
        guard let found = list() else {
            Loop.shared.after(milliseconds: LoginSessions.retryTime) { [weak self] in self?.readSessions() }
            return
        }
        guard found != current else { return }
        current = found
        onChange(found)
    }

    /// Whether all earlier sessions, of which there was one, have ended.
    nonisolated static func haveEnded(_ earlier: [String], now: [String]) -> Bool {
        !earlier.isEmpty && Set(earlier).isDisjoint(with: now)
    }

    /// Returns the IDs of this user's sessions, without closing ones, managers and greeters. Returns nil on a failure,
    /// such as a lack of descriptors, which must not count as the end of a session.
    private nonisolated static func userSessions() -> [String]? {
        var raw: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?
        let count = sd_uid_get_sessions(getuid(), 0, &raw)
        guard count >= 0 else { return nil }
        guard let raw else { return [] }
        defer { free(raw) }
        var ids: [String] = []
        var isWhole = true
        for index in 0..<Int(count) {
            guard let pointer = raw[index] else { continue }
            defer { free(pointer) }
            let id = String(cString: pointer)
            let kind = text(&isWhole) { sd_session_get_class(id, $0) }
            let state = text(&isWhole) { sd_session_get_state(id, $0) }
            if kind?.hasPrefix("user") == true, state != "closing" { ids.append(id) }
        }
        return isWhole ? ids.sorted() : nil
    }

    private nonisolated static func text(
        _ isWhole: inout Bool, _ get: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Int32
    ) -> String? {
        var pointer: UnsafeMutablePointer<CChar>?
        let result = get(&pointer)
        // These errors mean that the session has ended meanwhile. After any other error the list is incomplete.
        if result < 0, ![ENXIO, ENOENT, ENODATA].contains(-result) { isWhole = false }
        guard result >= 0, let pointer else { return nil }
        defer { free(pointer) }
        return String(cString: pointer)
    }
}

// A search for the processes that have nodes open, from /proc and from ALSA. The worker runs it.

import DBus
import Glibc
import PermissionModel
import ProcessIdentity

struct FoundOpeners: Sendable {
    /// By node: the processes, with the number of their descriptors; 0 of one that ALSA alone names.
    var openers: [String: [ProcessKey: Int]] = [:]
    /// By node that ALSA knows: the processes that it records for. These are certainly all.
    var recording: [String: Set<ProcessKey>] = [:]
    /// Of the search, in milliseconds.
    var duration: Int64 = 0
}

struct OpenerSearch: Sendable {
    let reader: ProcessReader
    let nodes: [FollowedNode]

    @Sendable func run() -> FoundOpeners {
        let start = Loop.nanoseconds(of: CLOCK_MONOTONIC)
        var found = FoundOpeners()
        let openers = reader.openers(of: Set(nodes.map(\.number)))
        for node in nodes {
            for opener in openers where opener.device == node.number {
                found.openers[node.path, default: [:]][opener.process] = opener.descriptors
            }
            addCaptures(of: node.path, to: &found)
        }
        found.duration = (Loop.nanoseconds(of: CLOCK_MONOTONIC) - start) / 1_000_000
        return found
    }

    /// Adds the processes that ALSA names: it knows those that may not be inspected as well.
    private func addCaptures(of path: String, to found: inout FoundOpeners) {
        guard let captures = SoundCaptures.of(path, reader.root) else { return }
        found.recording[path] = []
        for capture in captures {
            let pid = reader.process(ofThread: capture.owner) ?? capture.owner
            let process =
                found.openers[path]?.keys.first { $0.pid == pid }
                ?? ProcessKey(pid: pid, startTime: (try? reader.startTime(pid)) ?? 0)
            if found.openers[path]?[process] == nil { found.openers[path, default: [:]][process] = 0 }
            if capture.isRunning { found.recording[path]?.insert(process) }
        }
    }
}

// When the processes that have a device's node open are searched for, and which of them count: an open that ends within
// the probe time is none. Programs that only ask what a device can do hold it for a few milliseconds.

package import PermissionModel

/// Events of a node since they were last read.
package struct NodeEvents: Sendable, Hashable {
    package var opens: Int
    package var closes: Int
    /// Whether the last event is an open.
    package var endsWithOpen: Bool

    package init(opens: Int = 0, closes: Int = 0, endsWithOpen: Bool = false) {
        self.opens = opens
        self.closes = closes
        self.endsWithOpen = endsWithOpen
    }
}

/// What is known of one node. Times are uptimes in milliseconds. Does no I/O and has no clock.
package struct NodeActivity: Sendable {
    /// An open that ends within this time is a probe. Udev's and those of `v4l2-ctl` last less than 30 milliseconds, those
    /// of desktops that list cameras up to some hundred.
    package static let probeTime: Int64 = 500
    /// In which a driver releases a device that was closed; far more than it takes.
    package static let releaseTime: Int64 = 500

    private struct Seen {
        let first: Int64
        let since: EpochSeconds
        var descriptors: Int
        var isConfirmed: Bool
    }

    /// When all processes are searched next; nil if there is no need.
    package private(set) var due: Int64?
    private var seen: [ProcessKey: Seen] = [:]
    private var lastOpen: Int64 = 0
    private var lastClose: Int64 = 0
    /// When the first open happened that is not settled; nil if there is none.
    private var openedAt: EpochSeconds?
    /// The events since everything was settled, and the descriptors that there were then.
    private var events = NodeEvents()
    private var settledDescriptors = 0
    /// Since when a process that may not be inspected has it open.
    private var hiddenSince: EpochSeconds?

    package init() {}

    /// A process that is known to have the node open, or, if it is nil, one that may not be inspected.
    package struct Holding: Sendable, Hashable {
        package let process: ProcessKey?
        package let since: EpochSeconds
    }

    /// Those who have had it open for longer than the probe time.
    package var openings: [Holding] {
        let known = seen.filter(\.value.isConfirmed).map { Holding(process: $0.key, since: $0.value.since) }
            .sorted { ($0.since, $0.process?.pid ?? 0) < ($1.since, $1.process?.pid ?? 0) }
        return known + (hiddenSince.map { [Holding(process: nil, since: $0)] } ?? [])
    }

    /// All processes that were seen with it.
    package var processes: Set<ProcessKey> { Set(seen.keys) }

    /// Whether a close may end a use.
    private var isOpen: Bool { !seen.isEmpty || hiddenSince != nil }

    // MARK: Events

    /// The node is watched from now on. Processes that already have it open count like ones that open it now.
    package mutating func begin(at now: Int64, epoch: EpochSeconds) { expect(now, epoch) }

    package mutating func record(_ new: NodeEvents, at now: Int64, epoch: EpochSeconds) {
        events.opens += new.opens
        events.closes += new.closes
        events.endsWithOpen = new.endsWithOpen
        if new.opens > 0 { expect(now, epoch) }
        guard new.closes > 0 else { return }
        lastClose = now
        if isOpen { searchNow(now) }
    }

    /// A process has exited. Another one may have inherited its descriptors, without an event.
    package mutating func exited(_ process: ProcessKey, at now: Int64, epoch: EpochSeconds) {
        guard let gone = seen.removeValue(forKey: process) else { return }
        // The other one has had it open for as long.
        openedAt = min(openedAt ?? gone.since, gone.since)
        lastClose = now
        searchNow(now)
    }

    private mutating func searchNow(_ now: Int64) { due = min(due ?? now, now) }

    /// An open that is searched for when it is no probe any more. Further opens do not delay that.
    private mutating func expect(_ now: Int64, _ epoch: EpochSeconds) {
        lastOpen = now
        openedAt = openedAt ?? epoch
        due = due ?? now + NodeActivity.probeTime
    }

    // MARK: Searches

    /// All processes that have the node open, with the number of their descriptors: 0 of one that ALSA alone names.
    /// - Parameters:
    ///   - start: when the search began.
    ///   - seesAll: whether these are certainly all, as ALSA knows them, so that there are no hidden ones.
    package mutating func found(
        _ found: [ProcessKey: Int], from start: Int64, epoch: EpochSeconds, seesAll: Bool
    ) {
        // What was closed during the search may have been found nevertheless.
        let isCurrent = lastClose <= start
        // The kernel reports a close before the driver releases the device, and ALSA names the process until then.
        let isReleasing = found.values.contains(0) && start - lastClose < NodeActivity.releaseTime
        let isSettled = isCurrent && !isReleasing && start - lastOpen >= NodeActivity.probeTime
        seen = Dictionary(
            uniqueKeysWithValues: found.map { process, descriptors in
                var entry =
                    seen[process] ?? Seen(first: start, since: openedAt ?? epoch, descriptors: 0, isConfirmed: false)
                entry.descriptors = descriptors
                // While others open it again and again, whoever is seen for the probe time counts.
                let isOld = start - entry.first >= NodeActivity.probeTime
                entry.isConfirmed = entry.isConfirmed || isSettled || isOld
                return (process, entry)
            })
        due = isSettled ? nil : lastOpen + NodeActivity.probeTime
        if isReleasing { due = lastClose + NodeActivity.releaseTime }
        if !isCurrent, isOpen { due = lastClose }
        if seesAll { hiddenSince = nil }
        if isCurrent { countClosesOfHidden() }
        if isSettled { settle(epoch, seesAll) }
    }

    private mutating func settle(_ epoch: EpochSeconds, _ seesAll: Bool) {
        let gained = max(0, descriptors - settledDescriptors)
        // The last open was not closed. More closes than it leaves are of descriptors that were found closed earlier.
        let closes = min(events.closes, settledDescriptors + events.opens - 1)
        if !seesAll, hiddenSince == nil, events.endsWithOpen, events.opens - closes > gained {
            hiddenSince = openedAt ?? epoch
        }
        openedAt = nil
        events = NodeEvents()
        settledDescriptors = descriptors
    }

    private var descriptors: Int { seen.values.reduce(0) { $0 + $1.descriptors } }

    /// Closes that no known process accounts for end the use by a hidden one. The kernel reports several closes as one
    /// if they are not read in between, so one is enough.
    private mutating func countClosesOfHidden() {
        guard hiddenSince != nil, !events.endsWithOpen else { return }
        if events.closes - events.opens > max(0, settledDescriptors - descriptors) { hiddenSince = nil }
    }
}

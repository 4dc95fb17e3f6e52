// A connection that has called the service: whose it is, what is decided about it, and which of its calls wait.

import DBus
import GateRules
import GuardRules
import PermissionModel

@LoopActor
final class Caller {
    enum State {
        /// The bus was asked.
        case unknown
        /// It is not asked about.
        case passes
        case known(Identity)
        /// The bus or the kernel does not say whose it is, so that nobody can be asked.
        case unidentified
    }

    struct Identity {
        let user: UInt32
        let pid: Int32
        let pidfd: UnixFD
        /// Of its control group: no sandboxed app leaves its own.
        let group: UInt64
    }

    struct Waiting {
        enum What {
            case call(RelayMessage, ServiceLink)
            /// A call that waits only for what is decided already.
            case look(RelayMessage, ServiceLink)
            /// What the service does for it already is ended, unless it is granted.
            case nothing
        }

        let what: What
        var timer: LoopTimer?

        init(_ what: What) { self.what = what }

        var link: ServiceLink? {
            switch what {
            case .call(_, let link), .look(_, let link): link
            case .nothing: nil
            }
        }
    }

    let name: String
    /// No other caller has had it: a connection is what a program is to the guard, so that what an exec leaves behind is
    /// asked about again.
    let number: UInt64
    var state = State.unknown
    var verdict: GuardVerdict?
    /// Tells of the end of its process.
    var exit: WatchToken?
    /// Since when questions about it are counted, in milliseconds of `Loop.uptimeMilliseconds()`, and how many there were.
    var firstQuestion: Int64 = 0
    var questions = 0
    /// Calls of before its state was known, in their order.
    var early: [(call: RelayMessage, link: ServiceLink)] = []
    var waiting: [Int32: Waiting] = [:]
    /// What may begin when the service replies, by the serial of the call.
    var beginning: [UInt32: GateUse] = [:]
    var uses: Set<GateUse> = []
    /// The number under which its user's permd knows of its uses.
    var reportedUse: UInt64?
    /// The links at which it was told of objects, but of no devices.
    var partialViews: [ObjectIdentifier: ServiceLink] = [:]
    /// The links at which it has called what is asked about.
    var used: [ObjectIdentifier: ServiceLink] = [:]

    init(_ name: String, number: UInt64) { (self.name, self.number) = (name, number) }

    var identity: Identity? { if case .known(let identity) = state { identity } else { nil } }

    /// As `GuardTable` knows it.
    var program: ProcessImage? { identity.map { ProcessImage(pid: $0.pid, start: number, exec: 0) } }
}

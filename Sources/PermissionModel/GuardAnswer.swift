// What permd answers permd-guard.

/// The answers of org.permd.Guard1.Answer.
package enum GuardAnswer: String, Sendable, Hashable, CaseIterable {
    /// Until Recheck.
    case granted, denied
    /// This attempt fails, and the next one is asked about again.
    case undecided
}

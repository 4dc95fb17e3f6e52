// A reproducible random number generator: the same seed yields the same numbers on every machine.

/// SplitMix64.
struct Dice: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }

    mutating func number(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self) }

    /// Returns true with a probability of 1 in `count`.
    mutating func oneIn(_ count: Int) -> Bool { number(1...count) == 1 }

    /// Returns a random element of a non-empty array.
    mutating func pick<T>(_ choices: [T]) -> T { choices[number(0...choices.count - 1)] }

    /// Returns an independent generator for a concurrent task, so that the task's timing does not affect this one.
    mutating func fork() -> Dice { Dice(seed: next()) }
}

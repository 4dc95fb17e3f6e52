// Chance that can be had again: the same seed throws the same numbers on every machine.

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

    /// True once in so many throws.
    mutating func oneIn(_ count: Int) -> Bool { number(1...count) == 1 }

    /// One of them; there must be one.
    mutating func pick<T>(_ choices: [T]) -> T { choices[number(0...choices.count - 1)] }

    /// Dice of their own for something that runs beside, so that its order changes nothing here.
    mutating func fork() -> Dice { Dice(seed: next()) }
}

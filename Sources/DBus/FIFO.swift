// A first-in, first-out queue.

/// A queue in an array. Adding and removing take constant time on average.
public struct FIFO<Element> {
    private var elements: [Element]
    /// The index of the oldest element; those before it were removed.
    private var first = 0

    /// The elements for which an empty queue keeps its memory: enough for all but bursts.
    private static var keptCapacity: Int { 256 }

    public init(_ elements: [Element] = []) { self.elements = elements }

    public var isEmpty: Bool { first == elements.count }

    public mutating func append(_ element: Element) { elements.append(element) }

    /// Removes and returns the oldest element.
    public mutating func popFirst() -> Element? {
        guard first < elements.count else { return nil }
        let element = elements[first]
        first += 1
        if first == elements.count {
            elements.removeAll(keepingCapacity: elements.capacity <= Self.keptCapacity)
            first = 0
        } else if first > 16, first > elements.count / 2 {
            // Frees the removed entries once they are the larger part.
            elements.removeFirst(first)
            first = 0
        }
        return element
    }
}

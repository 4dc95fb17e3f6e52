// Who is served next: callers take turns, whoever of them calls how fast.

/// Messages that were read and not yet handled: each sender's in its order, one of each sender at a time.
struct CallTurns<Element> {
    private final class Line {
        let sender: String
        var elements: [Element] = []
        /// Those before are gone.
        var first = 0

        init(_ sender: String) { self.sender = sender }

        var count: Int { elements.count - first }
    }

    private var lines: [String: Line] = [:]
    /// Lines in the order of their turns; those before `next` had theirs.
    private var turns: [Line] = []
    private var next = 0

    var isEmpty: Bool { lines.isEmpty }

    func count(of sender: String) -> Int { lines[sender]?.count ?? 0 }

    mutating func add(_ element: Element, of sender: String) {
        if let line = lines[sender] { return line.elements.append(element) }
        let line = Line(sender)
        line.elements.append(element)
        lines[sender] = line
        turns.append(line)
    }

    /// The next, of a line that is not longer than `length`.
    mutating func take(ofLinesUpTo length: Int = .max) -> (element: Element, sender: String)? {
        guard let place = turns[next...].firstIndex(where: { $0.count <= length }) else { return nil }
        let line = turns[place]
        if place == next { next += 1 } else { turns.remove(at: place) }
        let element = line.elements[line.first]
        line.first += 1
        if line.count == 0 {
            lines[line.sender] = nil
        } else {
            turns.append(line)
        }
        shorten(line)
        return (element, line.sender)
    }

    /// What is gone is let go of when it is the larger part.
    private mutating func shorten(_ line: Line) {
        if line.first > 16, line.first > line.count {
            line.elements.removeFirst(line.first)
            line.first = 0
        }
        if next > 16, next > turns.count / 2 {
            turns.removeFirst(next)
            next = 0
        } else if next == turns.count {
            turns.removeAll(keepingCapacity: true)
            next = 0
        }
    }
}

// Clients that have left and may have made what appears next.
//
// PipeWire accepts one connection at a time, and handles in between what other clients do. So it may notice that a client
// has left before it notices the connection of what a sound server has loaded for that client. It accepts connections in
// their order: once a second connection of ours has appeared that was made after a client had left, so has everything
// that was connected for that client.

package struct DepartedClients<Client> {
    private let most: Int
    /// Who left before the second connection was made, or waits for one.
    private var earlier: [Client] = []
    /// Who has left since.
    private var later: [Client] = []
    /// Whether a second connection was made and has not appeared.
    package private(set) var isAwaiting = false

    /// - Parameter most: How many are remembered.
    package init(most: Int) { self.most = most }

    /// Nil if there are more than are remembered.
    package var all: [Client]? { earlier.count + later.count <= most ? earlier + later : nil }

    /// Whether a second connection has to be made.
    package var needsConnection: Bool { !isAwaiting && !earlier.isEmpty }

    package mutating func add(_ client: Client) {
        // One more than `most` is enough to know that there are more.
        if isAwaiting {
            if later.count <= most { later.append(client) }
        } else {
            if earlier.count <= most { earlier.append(client) }
        }
    }

    /// A second connection was made.
    package mutating func connected() { isAwaiting = true }

    /// The second connection has appeared among PipeWire's clients.
    package mutating func appeared() { (earlier, later, isAwaiting) = (later, [], false) }
}

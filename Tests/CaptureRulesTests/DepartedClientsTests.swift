import CaptureRules
import Testing

struct DepartedClientsTests {
    private func departed(_ clients: String...) -> DepartedClients<String> {
        var departed = DepartedClients<String>(most: 3)
        for client in clients { departed.add(client) }
        return departed
    }

    @Test func whoHasLeftCountsUntilALaterConnectionAppears() {
        var departed = departed("a")
        #expect(departed.needsConnection && departed.all == ["a"])
        departed.connected()
        #expect(!departed.needsConnection && departed.all == ["a"])
        departed.appeared()
        #expect(!departed.needsConnection && departed.all == [])
    }

    @Test func whoLeavesMeanwhileWaitsForTheNext() {
        var departed = departed("a")
        departed.connected()
        departed.add("b")
        #expect(departed.all == ["a", "b"])
        departed.appeared()
        #expect(departed.needsConnection && departed.all == ["b"])
    }

    @Test func aConnectionThatCannotBeMadeIsStillNeeded() {
        var departed = departed("a")
        departed.add("b")
        #expect(departed.needsConnection && departed.all == ["a", "b"])
    }

    /// Otherwise an app could have itself forgotten by many others that leave.
    @Test(arguments: [0, 1, 2, 3, 4])
    func nobodyIsForgottenForOthers(_ before: Int) {
        var departed = DepartedClients<String>(most: 3)
        for number in 0..<before { departed.add("\(number)") }
        departed.add("thief")
        departed.connected()
        for number in 0..<50 { departed.add("later \(number)") }
        #expect(departed.all == nil)
        departed.appeared()
        #expect(departed.all == nil)
        departed.connected()
        departed.appeared()
        #expect(departed.all == [])
    }
}

// Whether the location service counts as usable, and when it is started.

import DBus
import Glibc
import PermissionTestKit
import System
import TestSupport
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct GeoClueProbeTests {
    /// A system bus that can start a service, which only leaves a mark.
    @LoopActor
    private final class Bench {
        let folder: TemporaryFolder
        let bus: PrivateBus
        let probe: GeoClueProbe
        /// The problem of the device, empty if there is none; nil if there is no device.
        let states = EventLog<String?>()

        init(isActivatable: Bool) async throws {
            folder = try TemporaryFolder(["services"])
            if isActivatable {
                try folder.write(
                    ServiceFile.text(GeoClueProbe.service, ["/usr/bin/touch", folder.file("started")]),
                    to: "services/geoclue.service")
            }
            bus = try await PrivateBus(serviceDirectory: folder.file("services"))
            probe = GeoClueProbe(on: ReconnectingBus(.address(bus.address)))
            probe.start { [weak self] in
                guard let self else { return }
                states.add(probe.device?.problem)
            }
        }

        var isStarted: Bool { access(folder.file("started"), F_OK) == 0 }

        /// The service on a connection of its own.
        func run() throws -> Connection {
            let service = try bus.connect()
            service.methodHandler = { service.reply(to: $0) }
            #expect(try service.requestName(GeoClueProbe.service))
            return service
        }
    }

    @Test func aServiceIsStartedWhenAnAppAsks() async throws {
        let bench = try await Bench(isActivatable: true)
        #expect(try await bench.states.wait(for: 1) == [""])
        #expect(!bench.isStarted)
        bench.probe.isWanted()
        let problem = try await bench.states.wait(for: 2)[1]
        #expect(problem?.hasPrefix("GeoClue does not answer: ") == true && bench.isStarted)
        // It stays unusable until it runs.
        let service = try bench.run()
        #expect(try await bench.states.wait(for: 3)[2] == "")
        service.close()
        bench.probe.isWanted()
        await bench.bus.end()
    }

    @Test func aReloadForgetsTheFailure() async throws {
        let bench = try await Bench(isActivatable: true)
        _ = try await bench.states.wait(for: 1)
        bench.probe.isWanted()
        _ = try await bench.states.wait(for: 2)
        bench.probe.askAgain()
        #expect(try await bench.states.wait(for: 3)[2] == "")
        await bench.bus.end()
    }

    @Test func aServiceThatOnlyRuns() async throws {
        let bench = try await Bench(isActivatable: false)
        let service = try bench.run()
        try await bench.states.first { $0 == "" }
        service.close()
        try await bench.states.first { $0 == nil }
        await bench.bus.end()
    }
}

// What is one use, and who ends it, in tables of open nodes and reports.

import PermissionCore
import PermissionModel
import Testing

@Suite
struct UseTrackerTests {
    private static let camera = UsedDevice(permission: .camera, id: "cam", name: "Camera")
    private static let microphone = UsedDevice(permission: .microphone, id: "mic", name: "Microphone")
    private var tracker = UseTracker()
    private var time: EpochSeconds = 100

    private func opener(_ app: String?, _ pid: Int32 = 7, isServer: Bool = false) -> DeviceOpener {
        DeviceOpener(app: app.map { AppID($0)! }, pid: pid, isServer: isServer, since: 90, status: .denied)
    }

    private func words(_ changes: [UseChange]) -> [String] {
        changes.map { change in
            switch change {
            case .started(let use):
                "+\(use.number) \(use.app?.description ?? "?") \(use.device.permission) \(use.source) since \(use.since)"
            case .ended(let use, let end): "-\(use.number) at \(end)"
            }
        }
    }

    private mutating func opened(_ device: UsedDevice = UseTrackerTests.camera, _ openers: DeviceOpener...) -> [String]
    {
        time += 1
        return words(tracker.opened(device, by: openers, at: time))
    }

    private mutating func report(
        _ app: String, _ device: UsedDevice = UseTrackerTests.microphone, by point: String = ":1.1"
    ) throws(PermissionError) -> (number: UInt32, changes: [String]) {
        time += 1
        let report = UseReport(
            app: AppID(app)!, pid: 0, device: device, source: "pipewire", status: .granted)
        let (number, changes) = try tracker.report(report, by: point, at: time)
        return (number, words(changes))
    }

    private mutating func end(_ number: UInt32, by point: String = ":1.1") -> [String]? {
        time += 1
        return tracker.end(number, by: point, at: time).map(words)
    }

    // MARK: Open nodes

    @Test mutating func oneAppAndOneDeviceAreOneUse() {
        #expect(opened(Self.camera, opener("exe:/a", 7), opener("exe:/a", 8)) == ["+1 exe:/a camera device since 90"])
        #expect(opened(Self.camera, opener("exe:/a", 8)) == [])
        #expect(opened(Self.microphone, opener("exe:/a", 8)) == ["+2 exe:/a microphone device since 90"])
        #expect(opened(Self.camera, opener("exe:/a", 8), opener("exe:/b", 9)) == ["+3 exe:/b camera device since 90"])
        #expect(tracker.uses.map(\.number) == [1, 2, 3] && tracker.uses[0].pid == 7)
        #expect(opened(Self.camera, opener("exe:/b", 9)) == ["-1 at 105"])
        #expect(opened(Self.camera) == ["-3 at 106"] && opened(Self.microphone) == ["-2 at 107"])
        #expect(tracker.uses.isEmpty)
    }

    /// Nothing shows that two unknown processes are the same app.
    @Test mutating func unknownProcesses() {
        #expect(
            opened(Self.camera, opener(nil, 7), opener(nil, 8), opener(nil, 0)).count == 3)
        #expect(opened(Self.camera, opener(nil, 8), opener(nil, 0)) == ["-1 at 102"])
    }

    @Test mutating func openNodesHaveALimit() {
        let openers = (0..<2000).map { opener("exe:/a\($0)", $0) }
        #expect(tracker.opened(Self.camera, by: openers, at: 1).count == UseTracker.maximumDirect)
        #expect(opened(Self.microphone, opener("exe:/a")) == [])
        #expect(tracker.opened(Self.camera, by: [], at: 1).count == UseTracker.maximumDirect)
        #expect(opened(Self.microphone, opener("exe:/a")).count == 1)
    }

    // MARK: Reports

    @Test mutating func streamsOfAnApp() throws {
        let first = try report("flatpak:org.a.A")
        #expect(first.changes == ["+1 flatpak:org.a.A microphone pipewire since 101"])
        let second = try report("flatpak:org.a.A")
        #expect(second.number == first.number && second.changes == [])
        #expect(end(1) == [] && end(1) == ["-1 at 104"] && end(1) == nil)
    }

    @Test mutating func someoneElsesUse() throws {
        _ = try report("exe:/a", by: ":1.1")
        #expect(end(1, by: ":1.2") == nil && end(2) == nil)
        // Both report it: it lasts until both have ended it.
        #expect(try report("exe:/a", by: ":1.2").number == 1)
        #expect(end(1, by: ":1.1") == [] && end(1, by: ":1.1") == nil)
        #expect(end(1, by: ":1.2") == ["-1 at 107"])
    }

    @Test mutating func anEnforcementPointLeaves() throws {
        for app in ["exe:/a", "exe:/a", "exe:/b"] { _ = try report(app) }
        _ = try report("exe:/b", by: ":1.2")
        #expect(words(tracker.departed(":1.1", at: 9)) == ["-1 at 9"])
        #expect(words(tracker.departed(":1.1", at: 9)) == [])
        #expect(words(tracker.allDeparted(at: 10)) == ["-2 at 10"])
    }

    @Test mutating func aReportAndAnOpenNodeAreOneUse() throws {
        _ = opened(Self.microphone, opener("exe:/a"))
        #expect(try report("exe:/a").number == 1)
        #expect(opened(Self.microphone) == [] && tracker.uses.map(\.source) == ["device"])
        #expect(end(1) == ["-1 at 104"])
    }

    /// Devices without an ID are told apart by their names.
    @Test mutating func devicesWithoutAnID() throws {
        for name in ["Headset", "Headset", "Network"] {
            _ = try report("exe:/a", UsedDevice(permission: .microphone, id: "", name: name))
        }
        #expect(tracker.uses.map(\.device.name) == ["Headset", "Network"])
    }

    @Test mutating func limitsOfReports() throws {
        for number in 0..<UseTracker.maximumReported { _ = try report("exe:/a\(number)", by: ":1.\(1 + number % 2)") }
        #expect(isLimited(":1.1") && isLimited(":1.3"))
        #expect(end(1) == ["-1 at \(time)"])
        // Further streams of the same app count as well.
        #expect(try report("exe:/a3").changes == [] && isLimited(":1.1"))
        _ = tracker.departed(":1.2", at: 1)
        #expect(!isLimited(":1.3"))
        // Open nodes are listed nevertheless.
        #expect(opened(Self.camera, opener("exe:/spy")).count == 1)
    }

    private func isLimited(_ point: String) -> Bool {
        var copy = tracker
        do throws(PermissionError) {
            _ = try copy.report(Self.another, by: point, at: 1)
            return false
        } catch {
            return error.kind == .limitExceeded
        }
    }

    private static let another = UseReport(
        app: AppID("exe:/other")!, pid: 0, device: UsedDevice(permission: .camera, id: "", name: ""),
        source: "pipewire", status: .granted)

    // MARK: Sound servers

    @Test mutating func aSoundServerIsNoUseWhereAppsAreReported() throws {
        #expect(opened(Self.microphone, opener("exe:/usr/bin/pipewire", isServer: true)).count == 1)
        #expect(
            try report("exe:/a").changes == ["-1 at 102", "+2 exe:/a microphone pipewire since 102"])
        // Between two streams, too: the server closes its device later.
        #expect(end(2) == ["-2 at 103"])
        // The cameras are not reported.
        #expect(opened(Self.camera, opener("exe:/usr/bin/pipewire", isServer: true)).count == 1)
        // A program beside the server is a use.
        #expect(
            opened(Self.microphone, opener("exe:/usr/bin/pipewire", isServer: true), opener("exe:/b")) == [
                "+4 exe:/b microphone device since 90"
            ])
        #expect(words(tracker.departed(":1.1", at: 9)) == ["+5 exe:/usr/bin/pipewire microphone device since 90"])
        #expect(Set(tracker.uses.filter(\.isServer).map(\.number)) == [3, 5])
    }
}

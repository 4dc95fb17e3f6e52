// From events of nodes and from reports to uses, rows of the history and lines of the journal.

import DBus
import DeviceNodes
import Glibc
import PermissionCore
import PermissionModel
import PermissionTestKit
import ProcessIdentity
import TestSupport
import Testing

@testable import PermissionDaemon

@Suite(.timeLimit(.minutes(3)))
@LoopActor
struct DeviceUsageTests {
    private let terminal = try! PseudoTerminal()
    private var node: String { terminal.path }
    private nonisolated static let cat = "exe:/usr/bin/cat"

    @Test func anOpenNode() async throws {
        let stage = await UsageStage([UsageStage.camera(terminal)])
        #expect(stage.openings.watched == [node])
        let opener = try await UsageStage.opener("<>", node)
        // A probe, then the opener. Without a wait in between, in which the opener could be found before its event.
        stage.openings.send(node, NodeEvents(opens: 1, closes: 1))
        stage.opened(node)
        try await stage.changes.first { $0 == "+\(Self.cat) camera device granted \(opener.pid)" }
        #expect(stage.usage.uses.map(\.device.name) == ["Camera at \(node)"])
        opener.closeInput()
        _ = await opener.waitForExit()
        stage.closed(node)
        try await stage.changes.first { $0 == "-\(Self.cat)" }
        let row = try #require(stage.rows.first)
        #expect(row.outcome == .used && row.status == .granted && row.by == .nobody && row.seconds != nil)
        #expect(stage.usage.uses.isEmpty && stage.log.all.isEmpty)
    }

    /// A child that inherited the descriptor goes on with the use in its own name. There is no event of the node: the
    /// exits are noticed.
    @Test func anInheritedDescriptor() async throws {
        let shell = try await UsageStage.opener("<>", node, then: "exec 4<&0; cat <&4 & echo open; wait")
        let stage = await UsageStage([UsageStage.camera(terminal)])
        try await stage.changes.wait(for: 2)
        // The shell alone, unlike terminate().
        kill(shell.pid, SIGKILL)
        try await stage.changes.first { !$0.hasPrefix("+") && $0 != "-\(Self.cat)" }
        #expect(stage.usage.uses.map { $0.app?.description } == [Self.cat])
        shell.closeInput()
        try await stage.changes.first { $0 == "-\(Self.cat)" }
    }

    /// A program that only writes frames feeds a loopback camera; one that may not be inspected has no app.
    @Test func feedersAndHiddenProcesses() async throws {
        let other = try PseudoTerminal()
        let stage = await UsageStage([UsageStage.camera(terminal), UsageStage.camera(other, name: "Other")])
        let feeder = try await UsageStage.opener(">", node)
        stage.openings.send(node, NodeEvents(opens: 1, closes: 1))
        stage.opened(other.path)
        try await stage.changes.first { $0 == "+? camera device undetermined 0" }
        #expect(stage.changes.all.count == 1)
        try await stage.log.first { $0.contains("A program that cannot be identified uses the camera") }
        stage.closed(other.path)
        try await stage.changes.first { $0 == "-?" }
        #expect(stage.rows.isEmpty)
        feeder.terminate()
    }

    @Test func aUseWithoutAGrantIsInTheJournal() async throws {
        let opener = try await UsageStage.opener("<", node)
        let stage = await UsageStage([UsageStage.camera(terminal)])
        stage.status = .denied
        let line = try await stage.log.first { $0.contains("without a grant: denied") }
        for field in ["app=\(Self.cat)", "outcome=used", "status=denied", "permission=camera", "pid=\(opener.pid)"] {
            #expect(line.contains(field), "\(line)")
        }
        // A later decision changes nothing about it.
        stage.status = .granted
        opener.terminate()
        _ = await opener.waitForExit()
        try await stage.changes.first { $0 == "-\(Self.cat)" }
        #expect(stage.rows.map(\.status) == [.denied] && stage.log.all.count == 1)
    }

    /// permd-guard gives a camera that is open no images before there is an answer. A microphone that is open was granted.
    @Test func whoWaitsForAnAnswerUsesNoCamera() async throws {
        let microphone = try PseudoTerminal()
        let stage = await UsageStage([UsageStage.camera(terminal), UsageStage.microphone(microphone)])
        let looks = EventLog<String>()
        stage.status = .undetermined
        stage.usage.isAskedAbout = { [weak stage] process, permission in
            looks.add("\(process.pid) \(permission)")
            return stage?.status == .undetermined
        }
        let opener = try await UsageStage.opener("<>", node)
        stage.opened(node)
        try await looks.first { $0 == "\(opener.pid) camera" }
        #expect(stage.usage.uses.isEmpty && stage.changes.all.isEmpty)
        let recorder = try await UsageStage.opener("<>", microphone.path)
        stage.opened(microphone.path)
        try await stage.changes.first { $0 == "+\(Self.cat) microphone device undetermined \(recorder.pid)" }
        stage.status = .granted
        stage.usage.reconsider()
        #expect(stage.changes.all.dropFirst() == ["+\(Self.cat) camera device granted \(opener.pid)"])
        opener.terminate()
        recorder.terminate()
    }

    @Test func devicesComeAndGo() async throws {
        let record = UsageStage.camera(terminal)
        let stage = await UsageStage()
        #expect(stage.openings.watched.isEmpty)
        stage.openings.failures = [node: "permission denied"]
        let opener = try await UsageStage.opener("<>", node)
        // Whoever has it open already is found.
        stage.source.plug(record)
        await stage.settled()
        try await stage.changes.first { $0.hasPrefix("+\(Self.cat)") }
        #expect(stage.usage.problems == ["\(node) cannot be watched, so its uses go unnoticed: permission denied"])
        stage.source.unplug(record)
        await stage.settled()
        #expect(stage.changes.all.last == "-\(Self.cat)" && stage.openings.watched.isEmpty)
        #expect(stage.usage.problems.isEmpty)
        opener.terminate()
    }

    /// Whether a loopback is a camera depends on who has it open.
    @Test func aLoopbackIsAskedAgainWhenAUseEnds() async throws {
        let stage = await UsageStage([UsageStage.camera(terminal, at: "virtual")])
        let feeder = try await UsageStage.opener("<>", node)
        stage.opened(node)
        try await stage.changes.first { $0.hasPrefix("+\(Self.cat)") }
        await stage.settled()
        #expect(stage.catalog.isUsable(.camera))
        stage.probe.set { $0.videos[node] = .capabilities(2, card: "Virtual Camera") }
        feeder.terminate()
        try await stage.changes.first { $0.hasPrefix("-\(Self.cat)") }
        await stage.settled()
        #expect(!stage.catalog.isUsable(.camera))
    }

    /// Somebody had taken all instances of inotify for a moment.
    @Test func nodesThatCouldNotBeWatchedAreTriedAgain() async throws {
        let stage = await UsageStage()
        stage.openings.failures = [node: "the limit is reached"]
        stage.source.plug(UsageStage.camera(terminal))
        await stage.settled()
        stage.openings.failures = [:]
        try await stage.openings.watches.wait(for: stage.openings.watches.all.count + 1)
        #expect(stage.usage.problems.isEmpty)
        // Whoever has opened it meanwhile is found.
        let opener = try await UsageStage.opener("<>", node)
        stage.openings.send(node, .unknown)
        try await stage.changes.first { $0.hasPrefix("+\(Self.cat)") }
        opener.terminate()
        _ = await opener.waitForExit()
    }

    @Test func stopping() async throws {
        let stage = await UsageStage([UsageStage.camera(terminal)])
        let opener = try await UsageStage.opener("<>", node)
        stage.opened(node)
        try await stage.changes.wait(for: 1)
        _ = try stage.usage.reportUse(report("exe:/b"), by: ":1.1")
        stage.usage.stop()
        #expect(stage.usage.uses.isEmpty)
        #expect(Set(stage.rows.map(\.app?.description)) == [Self.cat, "exe:/b"])
        opener.terminate()
    }

    // MARK: ALSA

    private func sound(_ status: String, in folder: TemporaryFolder) throws {
        try folder.write(status, to: "asound/card0/pcm0c/sub0/status")
    }

    /// ALSA names a thread that records, also of a process that may not be inspected.
    @Test func captures() async throws {
        let folder = try TemporaryFolder([
            "asound", "asound/card0", "asound/card0/pcm0c", "asound/card0/pcm0c/sub0", "77", "78",
        ])
        try folder.write("Name:\tx\nTgid:\t77\n", to: "78/status")
        try folder.write("77 (x) S" + (4...21).map { " \($0)" }.joined() + " 777", to: "77/stat")
        try sound("closed\n", in: folder)
        let microphone = Records.pcm("pcmC0D0c")
        let stage = await UsageStage([microphone], reader: ProcessReader(root: folder.path))
        // Devices without a number cannot be looked up.
        #expect(stage.openings.watched.isEmpty)
        var numbered = microphone
        numbered.number = 116 << 8
        stage.source.change(numbered)
        await stage.settled()
        try #require(stage.openings.watched == [])
        stage.source.unplug(microphone)
        await stage.settled()
        stage.source.plug(numbered)
        await stage.settled()
        try #require(stage.openings.watched == ["/dev/snd/pcmC0D0c"])
        try sound("state: RUNNING\nowner_pid   : 78\ntrigger_time: 1.0\n", in: folder)
        stage.opened("/dev/snd/pcmC0D0c")
        try await stage.changes.first { $0 == "+? microphone capture undetermined 77" }
        // ALSA names it until the device is released.
        let search = OpenerSearch(
            reader: ProcessReader(root: folder.path),
            nodes: [
                FollowedNode(
                    path: "/dev/snd/pcmC0D0c", number: 116 << 8,
                    device: UsedDevice(permission: .microphone, id: "", name: ""))
            ])
        #expect(search.run().openers["/dev/snd/pcmC0D0c"]?.map(\.value) == [0])
        stage.closed("/dev/snd/pcmC0D0c")
        try sound("closed\n", in: folder)
        try await stage.changes.first { $0 == "-?" }
    }

    @Test func statusesOfALSA() {
        #expect(SoundCaptures.parse("closed\n") == nil)
        #expect(SoundCaptures.parse("") == nil)
        #expect(
            SoundCaptures.parse("state: RUNNING\nowner_pid   : 42\nhw_ptr      : 5\n")
                == SoundCapture(isRunning: true, owner: 42))
        #expect(SoundCaptures.parse("state: PREPARED\nowner_pid   : 42\n") == SoundCapture(isRunning: false, owner: 42))
        #expect(SoundCaptures.parse("state: RUNNING\nowner_pid   : -1\n") == nil)
        #expect(SoundCaptures.of("/dev/video0", "/proc") == nil)
    }

    /// Its interpreter is the system's.
    @Test(arguments: ["pipewire", "wireplumber"])
    func aScriptIsNoMediaService(_ name: String) async throws {
        let stage = await UsageStage([UsageStage.microphone(terminal)])
        // From now on, the sound server's own captures are not listed.
        _ = try stage.usage.reportUse(report("exe:/a"), by: ":1.1")
        let folder = try TemporaryFolder()
        let script = try folder.write("exec 3<>\"$1\"; echo open; read line", to: name)
        let opener = try ChildProcess("sh", [script, node], standardInput: .pipe)
        for await line in opener.lines where line == "open" { break }
        stage.opened(node)
        try await stage.changes.first { $0.hasSuffix(":\(script) microphone device granted \(opener.pid)") }
        opener.terminate()
    }

    // MARK: Reports

    private func report(
        _ app: String, source: String = "pipewire", device: String = "", name: String = "Headset",
        isBypass: Bool = false
    ) -> UseReport {
        UseReport(
            app: AppID(app)!, pid: 7, device: UsedDevice(permission: .microphone, id: device, name: name),
            source: source, status: .granted, isBypass: isBypass)
    }

    @Test func reports() async throws {
        let stage = await UsageStage([Records.pcm("pcmC0D0c")])
        let id = try #require(stage.catalog.devices.first?.id)
        let number = try stage.usage.reportUse(report("exe:/a", device: id, name: "nonsense"), by: ":1.1")
        let use = try #require(stage.usage.uses.first)
        #expect(use.number == number && use.device.name == "PCH" && use.source == "pipewire" && use.pid == 7)
        #expect(throws: PermissionError(.notFound, "this caller has reported no such use")) {
            try stage.usage.endUse(number, by: ":1.2")
        }
        try stage.usage.endUse(number, by: ":1.1")
        #expect(stage.changes.all == ["+exe:/a microphone pipewire granted 7", "-exe:/a"])
        #expect(stage.rows.map(\.outcome) == [.used])
        _ = try stage.usage.reportUse(
            report("exe:/a", name: "a\u{202E}b\n" + String(repeating: "c", count: 5000)), by: ":1.1")
        #expect(stage.usage.uses.first?.device.name.unicodeScalars.count == Limits.titleScalars)
        stage.usage.departed(":1.1")
        #expect(stage.usage.uses.isEmpty)
    }

    @Test(arguments: ["", "device", "capture", "a b", String(repeating: "a", count: 65), "\u{202E}"])
    func sourcesThatAreNoNames(_ source: String) async {
        let stage = await UsageStage()
        #expect(throws: PermissionError.self) {
            try stage.usage.reportUse(report("exe:/a", source: source), by: ":1.1")
        }
        #expect(stage.changes.all.isEmpty)
    }

    @Test func aBypassIsARowAndNoUse() async throws {
        let stage = await UsageStage()
        #expect(try stage.usage.reportUse(report("exe:/a", isBypass: true), by: ":1.1") == 0)
        #expect(stage.usage.uses.isEmpty && stage.rows.map(\.outcome) == [.bypassed])
        let line = try await stage.log.first { $0.contains("exe:/a got at the microphone Headset past pipewire") }
        #expect(line.contains("outcome=bypassed") && line.contains("status=granted"))
        #expect(throws: PermissionError.self) { try stage.usage.endUse(0, by: ":1.1") }
    }

    @Test func theConnectionIsLost() async throws {
        let stage = await UsageStage([UsageStage.camera(terminal)])
        let opener = try await UsageStage.opener("<>", node)
        stage.opened(node)
        try await stage.changes.wait(for: 1)
        _ = try stage.usage.reportUse(report("exe:/b"), by: ":1.1")
        stage.usage.disconnected()
        // The node is still open.
        #expect(stage.usage.uses.map { $0.app?.description } == [Self.cat])
        #expect(stage.rows.map(\.app?.description) == ["exe:/b"])
        opener.terminate()
    }
}

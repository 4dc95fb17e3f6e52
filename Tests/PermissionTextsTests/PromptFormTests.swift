// What the person sets in a prompt, the answers that follow, and the words of the question.

import PermissionClient
import PermissionTestKit
import PermissionTexts
import TestSupport
import Testing

@Suite
struct PromptFormTests {
    private static let all = Duration.Kind.allCases

    private func form(_ questions: PromptItem..., durations: [Duration.Kind] = all) -> PromptForm {
        PromptForm(
            questions.map { AgentPrompt.Item(id: $0, deviceName: "", reason: "") }, durations)
    }

    @Test func eachAnswerHasItsDuration() {
        var form = form(.camera)
        #expect(!form.hasSwitches && form.mayAllow)
        #expect(form.grants == [.once, .hour, .session, .always])
        #expect(form.answer(.once) == .answered([.camera: ItemDecision(verdict: .grant, duration: .once)]))
        #expect(form.answer(.session) == .answered([.camera: ItemDecision(verdict: .grant, duration: .session)]))
        #expect(form.answer(.deny) == .answered([.camera: ItemDecision(verdict: .deny, duration: .always)]))
        // A window shows the others on request.
        #expect(form.hasMore && form.shown == [.once, .always])
        form.toggleMore()
        #expect(form.hasMore && form.shown == form.grants)
    }

    /// What is switched off stays undecided; a refusal is about everything.
    @Test func whatIsSwitchedOnIsGranted() {
        var form = form(.camera, .microphone, .location)
        #expect(form.hasSwitches)
        form.turn(1, on: false)
        let always = ItemDecision(verdict: .grant, duration: .always)
        #expect(form.answer(.always) == .answered([.camera: always, .location: always]))
        let deny = ItemDecision(verdict: .deny, duration: .always)
        #expect(form.answer(.deny) == .answered([.camera: deny, .microphone: deny, .location: deny]))
        form.turn(0, on: false)
        form.turn(2, on: false)
        form.turn(7, on: true)
        #expect(!form.mayAllow && form.answer(.always) == .dismissed)
    }

    @Test func onlyWhatTheDaemonTakesIsOffered() {
        let form = form(.camera, durations: [.always, .session])
        #expect(form.shown == [.session, .always] && !form.hasMore)
        #expect(form.answer(.once) == .dismissed)
        #expect(!self.form(.camera, durations: []).mayAllow)
    }

    @Test func choicesOfAPortal() {
        let choice = PortalChoice(
            id: "size", label: "Size", options: [.init(id: "s", label: "S"), .init(id: "l", label: "L")], initial: "s")
        let item = AgentPrompt.Item(
            id: .portal(.wallpaper), deviceName: "", reason: "",
            dialog: PortalDialog(title: "Set it?", choices: [choice]))
        var form = PromptForm([item], [.once])
        // The portal keeps the answer, for as long as it wants.
        #expect(form.isOfPortal && form.mayAllow && !form.hasMore)
        form.select("l", of: "size", in: 0)
        #expect(form.selection(of: choice, in: 0) == "l")
        #expect(
            form.answer(.once)
                == .answered([item.id: ItemDecision(verdict: .grant, duration: .once, choices: ["size": "l"])]))
    }

    // MARK: Words

    private func heading(_ app: String, _ name: String, _ questions: [PromptItem], icon: String = "") -> String {
        let items = questions.map { AgentPrompt.Item(id: $0, deviceName: "", reason: "") }
        let heading = PromptTexts.heading(AgentPrompt(app: app, appName: name, appIcon: icon, items: items))
        return heading.ask(heading.name).filter { !"\u{2068}\u{2069}".contains($0) }
    }

    @Test func theQuestionNamesAllThatIsAsked() {
        #expect(heading("flatpak:a", "Call", [.camera, .microphone]) == "Call wants to use your camera and microphone")
        // Every set of permissions has a question.
        for bits in 1..<16 {
            let asked = Permission.allCases.enumerated().filter { bits & 1 << $0.offset != 0 }.map(\.element)
            let words = heading("flatpak:a", "Call", asked.map(PromptItem.permission))
            #expect(words.hasPrefix("Call wants to ") && !words.contains("%@"))
            for permission in asked { #expect(words.lowercased().contains(permission.rawValue), "\(words)") }
        }
    }

    @Test func whatStartedIt() {
        func lines(_ startedFrom: String) -> [String] {
            PromptTexts.details(AgentPrompt(app: "exe:/opt/a", appName: "a", startedFrom: startedFrom, items: []))
                .map { $0.filter { !"\u{2068}\u{2069}".contains($0) } }
        }
        #expect(lines("Files").contains("Started from Files") && !lines("").contains { $0.hasPrefix("Started") })
    }

    @Test func anUnknownProgramIsCalledThat() {
        #expect(
            heading("exe:/opt/x/recorder", "recorder", [.microphone])
                == "Unknown program “recorder” wants to use your microphone")
        #expect(heading("snap:a", "%@", [.camera]) == "%@ wants to use your camera")
        // A desktop entry gives it a name and an icon.
        #expect(
            heading("exe:/usr/bin/cheese", "Cheese", [.camera], icon: "cheese") == "Cheese wants to use your camera")
    }

    @Test func whatIsBehind() {
        func behind(_ count: Int, _ apps: String...) -> String {
            PromptTexts.behind(AgentPrompt.Behind(count: count, apps: apps)).filter { !"\u{2068}\u{2069}".contains($0) }
        }
        #expect(
            behind(0) == "" && behind(1, "Maps") == "Asking next: Maps"
                && behind(2, "Maps", "Recorder") == "Asking next: Maps, Recorder")
        #expect(behind(5, "A", "B", "C") == "Asking next: A, B and 3 more")
    }
}

// The pages of a prompt, and the results of its answers.

import PermissionClient
import PermissionTestKit
import Testing

@testable import permd_agent

@Suite
struct PromptFlowTests {
    private func flow(_ questions: Question..., explanation: Explanation? = nil) -> PromptFlow {
        PromptFlow(
            items: questions.map { AgentPrompt.Item(question: $0, deviceName: "", reason: "") },
            durations: [.once, .session, .until, .always], explanation: explanation)
    }

    @Test func oneQuestion() {
        var flow = flow(.camera)
        #expect(flow.page == .question(0) && !flow.mayAllowAll && !flow.hasNext)
        flow.answer(.session)
        #expect(flow.page == .over(.answered([.camera: ItemDecision(verdict: .grant, duration: .session)])))
        flow.answer(.deny)
        flow.dismiss()
        #expect(flow.page == .over(.answered([.camera: ItemDecision(verdict: .grant, duration: .session)])))
    }

    @Test func theExplanationComesFirst() {
        let words = Explanation(title: "t", body: "b")
        var flow = flow(.camera, explanation: words)
        #expect(flow.page == .explanation(words))
        flow.answer(.always)
        flow.allowAll()
        #expect(flow.page == .explanation(words))
        flow.proceed()
        #expect(flow.page == .question(0))
        var other = self.flow(.camera, explanation: words)
        other.dismiss()
        #expect(other.page == .over(.dismissed))
    }

    @Test func allowAllOnlyAfterEachQuestionWasSeen() {
        var flow = flow(.camera, .microphone, .location)
        flow.allowAll()
        #expect(flow.page == .question(0))
        flow.turn(by: 1)
        #expect(!flow.mayAllowAll)
        flow.turn(by: 1)
        #expect(flow.mayAllowAll && !flow.hasNext && flow.hasPrevious)
        flow.turn(by: 1)
        #expect(flow.page == .question(2))
        flow.turn(by: -2)
        flow.allowAll()
        let once = ItemDecision(verdict: .grant, duration: .once)
        #expect(flow.page == .over(.answered([.camera: once, .microphone: once, .location: once])))
    }

    @Test func answersInAnyOrder() {
        var flow = flow(.camera, .microphone)
        flow.turn(by: 1)
        flow.answer(.deny)
        // The skipped question is asked again.
        #expect(flow.page == .question(0))
        flow.answer(.once)
        #expect(
            flow.page
                == .over(
                    .answered([
                        .camera: ItemDecision(verdict: .grant, duration: .once),
                        .microphone: ItemDecision(verdict: .deny, duration: .always),
                    ])))
    }

    @Test func notNowKeepsWhatWasAnswered() {
        var flow = flow(.camera, .microphone)
        flow.answer(.deny)
        flow.dismiss()
        #expect(flow.page == .over(.answered([.camera: ItemDecision(verdict: .deny, duration: .always)])))
    }

    @Test func onlyWhatTheDaemonTakesIsOffered() {
        #expect(PromptChoice.offered([.once]) == [.deny, .once])
        #expect(PromptChoice.offered([]) == [.deny])
        let empty = PromptFlow(items: [], durations: [], explanation: nil)
        #expect(empty.page == .over(.failed("a prompt without a question")))
    }
}

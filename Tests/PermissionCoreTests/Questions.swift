// Short names of the questions that the tests ask most, and an origin of requests whose answers the tests read themselves.

import PermissionCore
import PermissionModel

extension PromptItem {
    static let camera = PromptItem.permission(.camera)
    static let microphone = PromptItem.permission(.microphone)
    static let bluetooth = PromptItem.permission(.bluetooth)
    static let location = PromptItem.permission(.location)
    static let screenshot = PromptItem.portal(.screenshot)
}

final class NoRequester: Requester {
    func accept() {}
    func refuse(_ error: PermissionError) {}
    func moved(from old: QueuePlace, to new: QueuePlace) {}
    func respond(_ reply: Reply) {}
    func forget() {}
}

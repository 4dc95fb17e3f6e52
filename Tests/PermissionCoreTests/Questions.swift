// Short names of the questions that the tests ask most, and an origin of requests whose answers the tests read themselves.

import PermissionCore
import PermissionModel

extension Question {
    static let camera = Question.permission(.camera)
    static let microphone = Question.permission(.microphone)
    static let bluetooth = Question.permission(.bluetooth)
    static let location = Question.permission(.location)
    static let screenshot = Question.portal(.screenshot)
}

final class NoOrigin: RequestOrigin {
    func accept() {}
    func refuse(_ error: PermissionError) {}
    func moved(from old: Place, to new: Place) {}
    func respond(_ reply: Reply) {}
    func forget() {}
}

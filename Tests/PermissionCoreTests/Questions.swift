// Short names of the questions that the tests ask most.

import PermissionModel

extension Question {
    static let camera = Question.permission(.camera)
    static let microphone = Question.permission(.microphone)
    static let bluetooth = Question.permission(.bluetooth)
    static let location = Question.permission(.location)
    static let screenshot = Question.portal(.screenshot)
}

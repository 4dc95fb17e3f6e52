// Short names of the questions that tests ask most.

package import PermissionModel

extension Question {
    package static let camera = Question.permission(.camera)
    package static let microphone = Question.permission(.microphone)
    package static let bluetooth = Question.permission(.bluetooth)
    package static let location = Question.permission(.location)
}

// Short names of the questions that tests ask most.

public import PermissionModel

extension Question {
    public static let camera = Question.permission(.camera)
    public static let microphone = Question.permission(.microphone)
    public static let bluetooth = Question.permission(.bluetooth)
    public static let location = Question.permission(.location)
}

// Short names of the questions that tests ask most.

package import PermissionModel

extension PromptItem {
    package static let camera = PromptItem.permission(.camera)
    package static let microphone = PromptItem.permission(.microphone)
    package static let bluetooth = PromptItem.permission(.bluetooth)
    package static let location = PromptItem.permission(.location)
}

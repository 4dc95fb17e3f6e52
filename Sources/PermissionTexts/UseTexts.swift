// What is said about the use of devices, in the settings window and by the indicator.

public import PermissionClient

public enum UseTexts {
    /// Why a use is not one that the person has allowed; nil if it is.
    public static func objection(_ status: Status) -> String? {
        switch status {
        case .granted, .unavailable: nil
        case .denied: Texts.text("you have refused it")
        case .restricted: Texts.text("the administrator forbids it")
        case .undetermined: Texts.text("you were not asked")
        }
    }
}

// The texts and the symbol of each permission, and the questions about several at once.

public import PermissionClient

/// English texts, which are keys of the catalogs in po/.
public struct PermissionText {
    public let name: String
    /// With the app in place of `%@`.
    public let question: String
    /// A name in the icon theme.
    public let icon: String
    /// What an app does now, what it has done, and what it was allowed for ever.
    public let isUsing: String
    public let hasUsed: String
    public let mayAlways: String

    public static func of(_ permission: Permission) -> PermissionText {
        switch permission {
        case .camera:
            PermissionText(
                name: "Camera", question: "%@ wants to use your camera", icon: "camera-web-symbolic",
                isUsing: "%@ is using your camera", hasUsed: "%@ has used your camera",
                mayAlways: "%@ may always use your camera")
        case .microphone:
            PermissionText(
                name: "Microphone", question: "%@ wants to use your microphone",
                icon: "audio-input-microphone-symbolic", isUsing: "%@ is using your microphone",
                hasUsed: "%@ has used your microphone", mayAlways: "%@ may always use your microphone")
        case .bluetooth:
            PermissionText(
                name: "Bluetooth", question: "%@ wants to find and use Bluetooth devices nearby",
                icon: "bluetooth-active-symbolic", isUsing: "%@ is using Bluetooth",
                hasUsed: "%@ has used Bluetooth", mayAlways: "%@ may always use Bluetooth")
        case .location:
            PermissionText(
                name: "Location", question: "%@ wants to know your location", icon: "find-location-symbolic",
                isUsing: "%@ gets your location", hasUsed: "%@ has got your location",
                mayAlways: "%@ may always know your location")
        }
    }

    /// Each is a text of its own, because languages join them differently.
    static let questions: [Set<Permission>: String] = [
        [.camera, .microphone]: "%@ wants to use your camera and microphone",
        [.camera, .bluetooth]: "%@ wants to use your camera and Bluetooth",
        [.camera, .location]: "%@ wants to use your camera and know your location",
        [.microphone, .bluetooth]: "%@ wants to use your microphone and Bluetooth",
        [.microphone, .location]: "%@ wants to use your microphone and know your location",
        [.bluetooth, .location]: "%@ wants to find and use Bluetooth devices nearby and know your location",
        [.camera, .microphone, .bluetooth]: "%@ wants to use your camera, microphone and Bluetooth",
        [.camera, .microphone, .location]: "%@ wants to use your camera and microphone and know your location",
        [.camera, .bluetooth, .location]: "%@ wants to use your camera and Bluetooth and know your location",
        [.microphone, .bluetooth, .location]: "%@ wants to use your microphone and Bluetooth and know your location",
        [.camera, .microphone, .bluetooth, .location]:
            "%@ wants to use your camera, microphone and Bluetooth and know your location",
    ]
}

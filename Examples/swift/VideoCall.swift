// Requests the permissions of a call, prints the results, and opens the camera.

import Glibc
import PermissionClient

enum VideoCall {
    /// The devices that the call can use. The camera is optional.
    struct Setup: Sendable {
        let hasCamera: Bool
        let hasMicrophone: Bool
    }

    /// A workflow: no prompt of another app appears between these two requests.
    static let prepare = Workflow<Setup> { context in
        let camera = try await context.request(
            .camera, reason: "So that the others can see you",
            explanation: Explanation(
                title: "Before your call", body: "The others see and hear you only while the call lasts."))
        print("camera: \(camera.rawValue)")
        let microphone = try await context.request(.microphone, reason: "So that the others can hear you")
        print("microphone: \(microphone.rawValue)")
        return Setup(hasCamera: camera == .granted, hasMicrophone: microphone == .granted)
    }

    static func main() async throws {
        do {
            let setup = try await PermissionCenter.session.add(prepare)
            guard setup.hasMicrophone else {
                print("A call needs a microphone.")
                exit(1)
            }
            if setup.hasCamera {
                let camera = try await PermissionCenter.session.openDevice(.camera)
                print("The call runs with \(camera.name) (\(camera.node)).")
            } else {
                print("The call runs without a picture.")
            }
        } catch let error as ClientError {
            print("permd: \(error.message)\(error.isRetryable ? "; try again later" : "")")
            exit(error.isRetryable ? 75 : 1)
        }
    }
}

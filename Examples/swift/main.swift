// A video call: camera and microphone as one workflow, with an explanation first.

try await VideoCall.main()

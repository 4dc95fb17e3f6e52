// A video call that requests camera and microphone in one workflow, with an explanation first.

try await VideoCall.main()

// The media services: programs of the session that open devices, record and link for others. The apps that they do it for
// are asked about, so the services themselves are not, and their uses are those of the apps.
//
// JACK is none: nobody can ask for its clients, so jackd is asked about like any program.

import System

package enum MediaService: Sendable, Hashable {
    /// It records for other programs.
    case server
    /// It asks devices what they can do, which may take some seconds, and lets the server record.
    case sessionManager

    /// By the names of their executables.
    package static let programs: [String: MediaService] = [
        "pipewire": .server, "pipewire-pulse": .server, "pipewire-aes67": .server, "pipewire-avb": .server,
        "pulseaudio": .server, "wireplumber": .sessionManager, "pipewire-media-session": .sessionManager,
    ]

    /// - Parameter executable: The path of an executable that no user can write (``ProcessReader/systemExecutable(_:)``):
    ///   any program can have a name.
    package init?(systemExecutable executable: [UInt8]) {
        guard let service = MediaService.programs[Folders.fileName(of: executable)] else { return nil }
        self = service
    }
}

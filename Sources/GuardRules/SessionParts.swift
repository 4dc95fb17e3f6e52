// The programs that pass: parts of the session, which open devices for others and are held to account where these ask.

package struct SessionParts: Sendable, Equatable {
    /// By the names of their executables.
    private static let names: Set<String> = [
        "pipewire", "pipewire-pulse", "wireplumber", "pipewire-media-session", "pulseaudio", "permd",
    ]
    /// Further executables, by their paths.
    private let paths: Set<String>

    package init(paths: Set<String> = []) { self.paths = paths }

    /// - Parameter executable: The path of an executable that belongs to the system, so that no user can write it.
    package func contains(_ executable: String) -> Bool {
        paths.contains(executable)
            || executable.split(separator: "/").last.map { SessionParts.names.contains(String($0)) } ?? false
    }
}

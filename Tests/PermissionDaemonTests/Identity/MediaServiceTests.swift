// Which programs are media services.

import ProcessIdentity
import Testing

struct MediaServiceTests {
    @Test(arguments: [
        ("/usr/bin/pipewire", MediaService.server), ("/usr/bin/pipewire-pulse", .server),
        ("/usr/bin/pipewire-aes67", .server), ("/usr/bin/pipewire-avb", .server), ("/usr/bin/pulseaudio", .server),
        ("/usr/bin/wireplumber", .sessionManager), ("/usr/libexec/pipewire-media-session", .sessionManager),
    ])
    func oneOfThem(executable: String, service: MediaService) {
        #expect(MediaService(systemExecutable: Array(executable.utf8)) == service)
    }

    /// The clients of JACK are not asked about, so jackd is.
    @Test(arguments: ["/usr/bin/jackd", "/usr/bin/jackdbus", "/usr/bin/pipewire2", "/usr/bin/pipewire/app", ""])
    func anotherProgram(executable: String) {
        #expect(MediaService(systemExecutable: Array(executable.utf8)) == nil)
    }
}

// Which programs the guard does not ask about.

import ProcessIdentity
import Testing

@testable import permd_guard

struct PassingProgramsTests {
    private let programs = PassingPrograms(paths: ["/opt/meter"])

    @Test(arguments: MediaService.programs.keys.sorted())
    func aMediaServicePasses(_ name: String) { #expect(programs.contains(Array("/usr/bin/\(name)".utf8))) }

    @Test(arguments: [
        ("/usr/libexec/permd", true), ("/opt/meter", true), ("/usr/bin/meter", false), ("/opt/meter/app", false),
        ("/usr/bin/permctl", false), ("/usr/bin/jackd", false), ("/usr/bin/arecord", false),
    ])
    func anotherProgram(_ path: String, passes: Bool) { #expect(programs.contains(Array(path.utf8)) == passes) }
}

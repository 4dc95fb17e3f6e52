// Which programs the guard does not ask about.

import PermissionModel
import ProcessIdentity
import Testing

@testable import permd_guard

struct PassingProgramsTests {
    private let programs = PassingPrograms(paths: ["/opt/meter"])

    private func passes(_ path: String, _ permission: Permission = .camera, unit: String? = nil) -> Bool {
        programs.contains(Array(path.utf8), permission) { $0 == unit }
    }

    /// Anybody can start one with a configuration of their own.
    @Test(arguments: MediaService.programs.keys.sorted())
    func aMediaServicePassesAsTheMainProcessOfItsUnit(_ name: String) {
        #expect(passes("/usr/bin/\(name)", unit: name))
        #expect(!passes("/usr/bin/\(name)", unit: "app-\(name)"))
        #expect(!passes("/usr/bin/\(name)"))
    }

    /// It opens sockets for the programs that have it send files.
    @Test func theServiceForFilesPassesWithSockets() {
        let obexd = "/usr/libexec/bluetooth/obexd"
        #expect(passes(obexd, .bluetooth, unit: "obex"))
        #expect(!passes(obexd, .camera, unit: "obex"))
        #expect(!passes(obexd, .bluetooth))
        #expect(!passes("/usr/bin/l2ping", .bluetooth, unit: "obex"))
    }

    @Test(arguments: [
        ("/usr/libexec/permd", false), ("/opt/meter", true), ("/usr/bin/meter", false), ("/opt/meter/app", false),
        ("/usr/bin/permctl", false), ("/usr/bin/jackd", false), ("/usr/bin/arecord", false),
    ])
    func anotherProgram(_ path: String, passes expected: Bool) { #expect(passes(path) == expected) }
}

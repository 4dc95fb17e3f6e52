// Makes the decisions in a store older, as if permd had not run for days.

package import PermissionTestKit

package enum OldGrants {
    /// Changes the time of each decision, and of each use. permd must not run.
    ///
    /// - Parameters:
    ///   - days: By how much older they get.
    ///   - bus: The bus on which permd has run.
    package static func make(days: Int, on bus: PrivateBus) async throws {
        let child = try ChildProcess(
            "python3", ["-c", program, "\(bus.directory)/state/permd/permd.db", "\(days * 86_400)"])
        _ = await child.output()
        guard await child.waitForExit() == .exited(0) else { throw TestKitError("the store cannot be made older") }
    }

    /// With the checksum of a row as permd computes it: FNV-1a of its fields, each with its type and length.
    private static let program = """
        from sqlite3 import connect
        from struct import pack
        from sys import argv

        def checksum(fields):
            data, nulls = b"", 0
            for field in fields:
                if field is None:
                    nulls += 1
                    continue
                data += b"\\0" * nulls
                nulls = 0
                if isinstance(field, int):
                    data += b"\\1" + pack("<q", field)
                else:
                    data += b"\\2" + pack("<Q", len(field.encode())) + field.encode()
            value = 0xCBF29CE484222325
            for byte in data:
                value = (value ^ byte) * 0x100000001B3 % 2**64
            return value - 2**64 if value >= 2**63 else value

        store = connect(argv[1])
        for row in store.execute("SELECT app, permission, verdict, lifetime, until, decided, by, scope FROM decision").fetchall():
            row = list(row)
            row[5] -= int(argv[2])
            store.execute("UPDATE decision SET decided = ?, checksum = ? WHERE app = ? AND permission = ?",
                (row[5], checksum(row), row[0], row[1]))
        store.execute("UPDATE last_use SET time = time - ?", (int(argv[2]),))
        store.commit()
        """
}

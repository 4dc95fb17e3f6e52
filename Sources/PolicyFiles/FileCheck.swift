// Checks files of rules and configurations as permd reads them, without permd.

import Glibc
import PermissionModel
package import System

/// What there is to say about a file.
package struct CheckedFile: Sendable, Hashable {
    package let path: String
    /// The first error, because of which permd ignores the file.
    package var error: FileProblem?
    /// What looks like a mistake.
    package var notes: [FileProblem] = []
}

package enum FileCheck {
    /// All files that apply to the machine whose root is that folder, and those that look as if they did.
    package static func machine(root: String) -> [CheckedFile] {
        let folders = RuleFolders(root: root)
        let listings = folders.listings()
        let found = folders.files(listings, known: [])
        let guardFolders = RuleFolders(root: root, configuration: GuardConfiguration.file)
        let guardListings = guardFolders.listings()
        let guardFound = guardFolders.files(guardListings, known: [])
        let unreadable = found.unreadable.map { CheckedFile(path: $0.folder, error: FileProblem($0.failure)) }
        let unread = (listings + guardListings.filter { $0.folder.hasSuffix("\(GuardConfiguration.file).d") })
            .filter { RuleFolders.isDropIn($0.folder) }.flatMap(unread)
        return unreadable + (found.rules + found.configuration + guardFound.configuration).map { file($0, root: root) }
            + unread
    }

    /// A file, or the files in a folder and in its folders of drop-in files.
    package static func path(_ path: String) -> [CheckedFile] {
        guard isFolder(path) else { return [file(path, root: "/")] }
        let listing = FolderListing(reading: path)
        let error = listing.failure.map { CheckedFile(path: path, error: FileProblem($0)) }
        let below = listing.names.map { "\(path)/\($0)" }.sorted()
        return (error.map { [$0] } ?? []) + below.filter(RuleFolders.isRead).map { file($0, root: "/") }
            + (RuleFolders.isDropIn(path) ? unread(listing) : [])
            + below.filter(RuleFolders.isDropIn).flatMap { self.path($0) }
    }

    /// Rules if its first section is one, a configuration of permd-guard if that is theirs, else one of permd.
    private static func file(_ path: String, root: String) -> CheckedFile {
        var result = CheckedFile(path: path)
        do throws(FileProblem) {
            let text = try RuleFolders.text(path)
            let content = try KeyFile(
                administrators: text, repeatable: Rule.repeatable.union(GuardConfiguration.repeatable))
            let first = content.sections.first?.name ?? ""
            if first.hasPrefix("Rule") {
                let prefix = root == "/" ? "" : root
                // A package's rules may be about programs of packages that are not installed.
                let isPackages = path.hasPrefix("\(prefix)/usr/lib/")
                result.notes = try Rule.read(content, file: path).flatMap {
                    $0.notes { isPackages ? [] : start(of: prefix + $0) }
                }
            } else if GuardConfiguration.keys.contains(where: { $0.section == first }) {
                _ = try GuardConfiguration.read(text, over: GuardConfiguration())
            } else {
                _ = try Configuration.read(text, over: Configuration())
            }
        } catch { result.error = error }
        return result
    }

    /// The first two bytes of a file; none if it cannot be read, and nil if there is none.
    private static func start(of path: String) -> [UInt8]? {
        access(path, F_OK) == 0 ? RegularFile.start(of: path, 2) ?? [] : nil
    }

    /// The files that permd does not read because of their names.
    private static func unread(_ listing: FolderListing) -> [CheckedFile] {
        listing.names.sorted().filter { !RuleFolders.isRead($0) && !$0.hasPrefix(".") }.map {
            let note = FileProblem(line: 0, message: "permd does not read this file: its name does not end in .conf")
            return CheckedFile(path: "\(listing.folder)/\($0)", notes: [note])
        }
    }

    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

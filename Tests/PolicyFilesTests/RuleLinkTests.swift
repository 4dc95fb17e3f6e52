// Links in the paths of rules, and the rule files that packages install.

import Foundation
import PermissionModel
import PermissionTestKit
import System
import Testing

@testable import PolicyFiles

@Suite
struct RuleLinkTests {
    /// The kernel names an executable by a path without links.
    @Test func linksAreFollowed() throws {
        let folder = try TemporaryFolder(["real", "real/[x]"])
        try folder.write("", to: "real/tool")
        try folder.write("", to: "real/[x]/tool")
        for (link, target) in [("lib", "real"), ("tool", "lib/tool"), ("odd", "real/[x]/tool"), ("gone", "nothing")] {
            try #require(symlink(target, folder.file(link)) == 0)
        }
        let real = String(decoding: try #require(Folders.realPath(folder.path)), as: UTF8.self)
        func matches(_ pattern: String, _ path: String) throws -> Bool {
            let rule = try Rule.read(
                "[Rule a]\nPermissions=camera\nAction=restrict\nApps=exe:\(folder.path)/\(pattern)\n", file: "/f")[0]
            let app = try #require(AppID("exe:\(path)"))
            return rule.followingLinks().apps.contains { $0.matches(app) }
        }
        #expect(try matches("tool", "\(real)/real/tool"))
        #expect(try matches("lib/tool", "\(real)/real/tool") && !matches("lib/tool", "\(real)/real/other"))
        #expect(try matches("lib/*", "\(real)/real/other") && matches("lib/later", "\(real)/real/later"))
        #expect(try matches("tool:/a.py", "\(real)/real/tool:/a.py"))
        // It is a pattern, and the name that it leads to is none.
        #expect(try matches("odd", "\(real)/real/[x]/tool") && !matches("odd", "\(real)/real/x/tool"))
        #expect(try !matches("gone", "\(real)/real/tool"))
    }

    /// What the packages install must say nothing that is an error.
    @Test func filesOfThePackages() throws {
        let packaging = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../packaging")
            .standardized
        let names = try FileManager.default.subpathsOfDirectory(atPath: packaging.path).filter {
            $0.hasSuffix("rules.conf")
        }
        #expect(!names.isEmpty)
        for name in names {
            let path = packaging.appending(path: name).path
            #expect(try !Rule.read(String(contentsOfFile: path, encoding: .utf8), file: path).isEmpty)
        }
    }
}

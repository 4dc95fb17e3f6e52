// What is wrong in a file that people write, and where.

package struct FileProblem: Error, Sendable, Hashable {
    /// From 1; 0 means the whole file.
    package let line: Int
    package let message: String

    package init(line: Int, message: String) { (self.line, self.message) = (line, message) }

    /// A place in a file, as people and editors read it.
    package static func place(_ file: String, _ line: Int) -> String { line == 0 ? file : "\(file):\(line)" }
}

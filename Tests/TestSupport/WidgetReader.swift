// The program that reads the widgets of other programs. It runs as long as the session, because its start takes as long as
// some looks.

import DBus
import Foundation
import PermissionTestKit

@LoopActor
final class WidgetReader {
    private let child: ChildProcess
    private var lines: AsyncStream<String>.Iterator
    /// Questions are asked one after the other.
    private var last: Task<[String], Never>?

    init(_ environment: [String: String]) throws {
        let script = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "widgets.py").path
        child = try ChildProcess(
            "/usr/bin/python3", [script], environment: environment, standardInput: .pipe, standardError: .null)
        lines = child.lines.makeAsyncIterator()
    }

    /// Returns the lines of the answer.
    func ask(_ words: [String]) async -> [String] {
        let task = Task { [last] in
            _ = await last?.value
            return await answer(words)
        }
        last = task
        return await task.value
    }

    private func answer(_ words: [String]) async -> [String] {
        guard child.write(words.joined(separator: "|") + "\n") else { return [] }
        var answer: [String] = []
        while let line = await next(), !line.isEmpty { answer.append(line) }
        return answer
    }

    private func next() async -> String? {
        var iterator = lines
        let line = await iterator.next(isolation: #isolation)
        lines = iterator
        return line
    }

    func end() async {
        child.closeInput()
        _ = await child.waitForExit()
    }
}

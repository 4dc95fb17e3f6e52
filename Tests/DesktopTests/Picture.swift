// What a screen shows.

import Foundation
import PermissionTestKit

/// A picture of a screen, read from a file in the format PPM.
struct Picture {
    let width: Int
    let height: Int
    private let bytes: [UInt8]

    struct Area: Equatable {
        var left: Int, top: Int, right: Int, bottom: Int

        var width: Int { right - left }
        var height: Int { bottom - top }
        var middle: (x: Int, y: Int) { ((left + right) / 2, (top + bottom) / 2) }
    }

    init(_ path: String) throws {
        let data = [UInt8](try Data(contentsOf: URL(filePath: path)))
        // P6, width, height and the largest value, each followed by one blank.
        var words: [Int] = []
        var place = 2
        while words.count < 3, place < data.count {
            place += 1
            let start = place
            while place < data.count, data[place] >= 0x30 { place += 1 }
            words.append(Int(String(decoding: data[start..<place], as: UTF8.self)) ?? 0)
        }
        guard words.count == 3, data.count - place - 1 == words[0] * words[1] * 3 else {
            throw TestKitError("\(path) is no picture")
        }
        (width, height) = (words[0], words[1])
        bytes = Array(data[(place + 1)...])
    }

    /// Whether a pixel has the color of the editor's paper.
    private func isPaper(_ x: Int, _ y: Int) -> Bool {
        let start = (y * width + x) * 3
        return zip(bytes[start..<start + 3], Editor.paper).allSatisfy { abs(Int($0) - $1) < 4 }
    }

    /// The area of what covers the editor in a part of the screen that shows nothing else; nil if that is not one
    /// rectangle as large as a prompt, which a tooltip may exceed.
    func prompt(in part: Area) -> Area? {
        // A monitor has just been plugged in or out.
        guard part.right <= width, part.bottom <= height else { return nil }
        // The editor's text is at the top.
        let rows = (part.top + Editor.textHeight)..<part.bottom
        var area = Area(left: part.right, top: part.bottom, right: part.left, bottom: part.top)
        var covered = 0
        for y in rows {
            for x in part.left..<part.right where !isPaper(x, y) {
                covered += 1
                area.left = min(area.left, x)
                area.right = max(area.right, x + 1)
                area.top = min(area.top, y)
                area.bottom = max(area.bottom, y + 1)
            }
        }
        let isRectangle = covered * 100 > area.width * area.height * 90
        let isWithin = area.left > part.left && area.right < part.right && area.bottom < part.bottom
        return area.width > 300 && area.height > 150 && isRectangle && isWithin ? area : nil
    }
}

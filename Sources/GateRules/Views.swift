// What a program about which nothing is decided sees of a service: its objects without those that tell of devices.

/// The description of an object (D-Bus specification, "Introspection Data Format") without children of these names.
package func withoutNodes(_ text: String, _ isHidden: (_ name: String) -> Bool) -> String {
    let start = "<node name=\""
    var kept = ""
    var rest = text[...]
    while let node = rest.range(of: start) {
        let name = rest[node.upperBound...].prefix { $0 != "\"" }
        guard isHidden(String(name)) else {
            kept += rest[..<node.upperBound]
            rest = rest[node.upperBound...]
            continue
        }
        kept += rest[..<node.lowerBound]
        // Children are named only: of one with content, nothing that follows is shown.
        guard let end = rest[node.upperBound...].firstIndex(of: ">"), rest[..<end].last == "/" else {
            return kept + "</node>\n"
        }
        rest = rest[rest.index(after: end)...]
    }
    return kept + rest
}

extension Substring {
    fileprivate func range(of text: String) -> Range<Index>? {
        var at = startIndex
        while at < endIndex {
            if self[at...].hasPrefix(text) { return at..<index(at, offsetBy: text.count) }
            at = index(after: at)
        }
        return nil
    }
}

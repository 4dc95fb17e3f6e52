// Whether the person sees the prompt: a window that has lost the focus may be behind others.

import CAdwaita

/// Used only on GTK's thread.
final class PromptSight {
    /// Milliseconds that a prompt may be out of sight.
    private static let patience: UInt32 = 3000

    private let onChange: (_ isOut: Bool) -> Void
    private var timer: UInt32 = 0
    private var isOut = false

    /// - Parameter onChange: Called when the prompt has been out of sight for a while, and when that is over.
    init(_ onChange: @escaping (_ isOut: Bool) -> Void) { self.onChange = onChange }

    func update(isSeen: Bool) {
        if isSeen {
            if timer != 0 { g_source_remove(timer) }
            timer = 0
            if isOut { onChange(false) }
            isOut = false
        } else if timer == 0, !isOut {
            timer = g_timeout_add(
                PromptSight.patience,
                { context in
                    context.map { Unmanaged<PromptSight>.fromOpaque($0).takeUnretainedValue() }?.lose()
                    return 0
                }, Unmanaged.passUnretained(self).toOpaque())
        }
    }

    private func lose() {
        timer = 0
        isOut = true
        onChange(true)
    }
}

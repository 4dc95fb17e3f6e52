// Signal subscriptions, and tracking the owners of the names they are expected from.

extension Connection {
    /// Calls `handler` for each matching signal; a nil parameter matches anything. Without `addMatch`, only unicast
    /// signals arrive.
    ///
    /// With a well-known `sender`, only signals from its current owner count; this includes unicast signals. Signals with
    /// file descriptors are dropped without `takesDescriptors`.
    @discardableResult
    public func onSignal(
        sender: String? = nil, path: String? = nil, interface: String? = nil, member: String? = nil,
        firstArgument: String? = nil, addMatch: Bool = true, takesDescriptors: Bool = false,
        _ handler: @escaping @LoopActor (Message) -> Void
    ) -> Subscription {
        let pattern = SignalPattern(
            sender: sender, path: path, interface: interface, member: member, firstArgument: firstArgument,
            takesDescriptors: takesDescriptors)
        // Before the match rule, so that the bus reports the owner before it delivers any of its signals.
        if let name = pattern.wellKnownSender { follow(name) }
        let id = signals.add(pattern, handler)
        let rule = pattern.matchRule
        if addMatch { send(.busCall("AddMatch", [.string(rule)], noReply: true)) }
        return Subscription { [weak self] in
            guard let self else { return }
            signals.remove(id)
            if addMatch { send(.busCall("RemoveMatch", [.string(rule)], noReply: true)) }
            if let name = pattern.wellKnownSender { stopFollowing(name) }
        }
    }

    /// Calls `body` when `name` gets another owner, nil if it has none (org.freedesktop.DBus.NameOwnerChanged).
    @discardableResult
    public func onOwnerChange(of name: String, _ body: @escaping @LoopActor (String?) -> Void) -> Subscription {
        onSignal(
            sender: Message.busName, interface: Message.busName, member: "NameOwnerChanged", firstArgument: name
        ) { message in
            guard message.body.count == 3, let owner = message.body[2].stringValue else { return }
            body(owner.isEmpty ? nil : owner)
        }
    }

    /// Calls `body` when `name` has no owner any more; changes of other names do not wake the process. A unique name
    /// that has already vanished counts as well, in a later turn: it is never reused.
    public func whenNameVanishes(_ name: String, _ body: @escaping @LoopActor () -> Void) -> Subscription {
        var isOver = false
        let vanished: @LoopActor () -> Void = {
            guard !isOver else { return }
            isOver = name.hasPrefix(":")
            body()
        }
        let token = onOwnerChange(of: name) { if $0 == nil { vanished() } }
        guard name.hasPrefix(":") else { return token }
        // The peer may have left before the bus received the match rule.
        let question = call(.busCall("GetNameOwner", [.string(name)])) { result in
            if case .failure(let error) = result, error.name == BusError.Name.nameHasNoOwner { vanished() }
        }
        return Subscription {
            isOver = true
            question.cancel()
            token.cancel()
        }
    }

    func deliver(_ message: Message) {
        for (id, pattern, handler) in signals.entries where pattern.fits(message, owner: owner(of: pattern)) {
            // An earlier handler may have cancelled this subscription.
            if signals.contains(id) { handler(message) }
        }
    }

    /// The unique name behind a well-known sender.
    func owner(of pattern: SignalPattern) -> String? { pattern.wellKnownSender.flatMap { owners[$0]?.owner } }

    /// Tracks the owner of a well-known name. Calls are counted; each must be balanced by `stopFollowing`.
    @discardableResult
    func follow(_ name: String) -> NameOwner {
        if let known = owners[name] {
            known.listeners += 1
            return known
        }
        let entry = NameOwner()
        entry.listeners = 1
        owners[name] = entry
        entry.token = onOwnerChange(of: name) { entry.apply($0) }
        // The bus sends the reply and the signals in the order of the ownership changes.
        call(.busCall("GetNameOwner", [.string(name)])) { result in
            if case .success(let message) = result { entry.apply(message.body.first?.stringValue) }
        }
        return entry
    }

    private func stopFollowing(_ name: String) {
        guard let entry = owners[name] else { return }
        entry.listeners -= 1
        guard entry.listeners == 0 else { return }
        owners[name] = nil
        entry.token?.cancel()
    }
}

// Subscribing to signals, and who owns the names they are expected from.

extension Connection {
    /// Calls `handler` for each signal that fits; nil fits all. Without `addMatch` only unicast ones come.
    ///
    /// With a well-known `sender` only signals of its owner at that moment count, unicast ones too.
    @discardableResult
    public func onSignal(
        sender: String? = nil, path: String? = nil, interface: String? = nil, member: String? = nil,
        firstArgument: String? = nil, addMatch: Bool = true, _ handler: @escaping @LoopActor (Message) -> Void
    ) -> Subscription {
        let pattern = SignalPattern(
            sender: sender, path: path, interface: interface, member: member, firstArgument: firstArgument)
        // Before the match: so the bus tells us the owner before it sends us any of its signals.
        if let name = pattern.wellKnownSender { follow(name) }
        let id = signals.add(pattern, handler)
        let rule = pattern.matchRule
        if addMatch { send(.busCall("AddMatch", [.string(rule)], noReply: true)) }
        return Subscription { [weak self] in
            guard let self else { return }
            signals.remove(id, pattern)
            if addMatch { send(.busCall("RemoveMatch", [.string(rule)], noReply: true)) }
            if let name = pattern.wellKnownSender { stopFollowing(name) }
        }
    }

    /// Calls `body` when that name has no owner any more. One match for this name alone: nobody else's comings and
    /// goings wake us. A unique name that is gone already counts, in a later turn: it never comes back.
    public func whenNameVanishes(_ name: String, _ body: @escaping @LoopActor () -> Void) -> Subscription {
        var isOver = false
        let vanished: @LoopActor () -> Void = {
            guard !isOver else { return }
            isOver = name.hasPrefix(":")
            body()
        }
        let token = onSignal(
            sender: Message.busName, interface: Message.busName, member: "NameOwnerChanged", firstArgument: name
        ) { message in
            if message.body.count == 3, message.body[2].stringValue == "" { vanished() }
        }
        guard name.hasPrefix(":") else { return token }
        // It may have left before the bus had our match.
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
        for (id, pattern) in signals.candidates(for: message) where fits(pattern, message) {
            // Asked for at this moment: an earlier handler may have cancelled it.
            signals.handler(id, pattern)?(message)
        }
    }

    func fits(_ pattern: SignalPattern, _ message: Message) -> Bool {
        pattern.fits(message, owner: pattern.wellKnownSender.flatMap { owners[$0]?.owner })
    }

    /// Keeps the owner of a well-known name up to date until as many calls of `stopFollowing`.
    @discardableResult
    func follow(_ name: String) -> NameOwner {
        if let known = owners[name] {
            known.listeners += 1
            return known
        }
        let entry = NameOwner()
        entry.listeners = 1
        owners[name] = entry
        entry.token = onSignal(
            sender: Message.busName, interface: Message.busName, member: "NameOwnerChanged", firstArgument: name
        ) { message in
            guard message.body.count == 3, let owner = message.body[2].stringValue else { return }
            entry.become(owner.isEmpty ? nil : owner)
        }
        // The answer and the signals come in the order in which things happened.
        call(.busCall("GetNameOwner", [.string(name)])) { result in
            if case .success(let message) = result { entry.become(message.body.first?.stringValue) }
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

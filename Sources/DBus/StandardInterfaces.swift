// org.freedesktop.DBus.Introspectable and .Properties, answered from the tables (D-Bus specification). libdbus itself
// answers .Peer.

/// The names of the standard interfaces (D-Bus specification).
public enum StandardInterfaces {
    public static let introspectable = "org.freedesktop.DBus.Introspectable"
    public static let properties = "org.freedesktop.DBus.Properties"
    public static let peer = "org.freedesktop.DBus.Peer"
    /// Of libdbus's own signals; no other program may send one.
    static let local = "org.freedesktop.DBus.Local"
}

extension ObjectServer {
    // MARK: Properties

    func answerProperties(_ call: MethodCall, _ member: String, _ own: [Interface]) {
        switch (member, call.message.signature) {
        case ("Get", "ss"), ("Set", "ssv"):
            withInterface(call, own) { interface in
                let name = call.arguments[1].stringValue ?? ""
                guard let property = interface.properties.first(where: { $0.name == name }) else {
                    return call.failStandard(BusError.Name.unknownProperty, "there is no property \(name)")
                }
                if member == "Get" { return call.reply(.variant(property.get(call))) }
                call.failStandard(BusError.Name.propertyReadOnly, "\(name) cannot be set")
            }
        case ("GetAll", "s"):
            withInterface(call, own) { interface in
                var values: [String: Value] = [:]
                for property in interface.properties { values[property.name] = property.get(call) }
                call.reply(.properties(values))
            }
        default: unknown(call, member)
        }
    }

    /// Calls `body` with the interface named by the first argument, once the caller is authorized to read its
    /// properties.
    private func withInterface(
        _ call: MethodCall, _ own: [Interface], _ body: @escaping @LoopActor (Interface) -> Void
    ) {
        guard decode(call, options: []) else { return }
        let name = call.arguments[0].stringValue ?? ""
        guard let interface = own.first(where: { $0.name == name }) else {
            return call.failStandard(BusError.Name.unknownInterface, "\(call.path) has no interface \(name)")
        }
        pass(call, interface.readers) { body(interface) }
    }

    private func unknown(_ call: MethodCall, _ member: String) {
        call.failStandard(
            BusError.Name.unknownMethod, "there is no method \(member) that takes (\(call.message.signature))")
    }

    // MARK: Introspection

    func introspect(_ call: MethodCall, _ member: String, _ own: [Interface]?) {
        guard member == "Introspect", call.message.signature.isEmpty else { return unknown(call, member) }
        let children = children(of: call.path, for: call.sender)
        guard own != nil || !children.isEmpty else {
            return call.failStandard(BusError.Name.unknownObject, "there is no object \(call.path)")
        }
        call.reply(.string(IntrospectionXML.document(own ?? [], children: children)))
    }
}

/// Introspection documents, following the DTD of the specification.
enum IntrospectionXML {
    static func document(_ interfaces: [Interface], children: [String]) -> String {
        var text = """
            <!DOCTYPE node PUBLIC "-//freedesktop//DTD D-BUS Object Introspection 1.0//EN"
             "http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd">
            <node>

            """
        for interface in interfaces { text += element(interface) }
        if !interfaces.isEmpty { text += standard }
        for child in children { text += "  <node name=\"\(child)\"/>\n" }
        return text + "</node>\n"
    }

    private static func element(_ interface: Interface) -> String {
        var text = "  <interface name=\"\(interface.name)\">\n"
        for method in interface.methods {
            let arguments = elements(method.inputs, direction: "in") + elements(method.outputs, direction: "out")
            text += element("method", method.name, arguments)
        }
        for signal in interface.signals { text += element("signal", signal.name, elements(signal.arguments)) }
        for property in interface.properties {
            text += "    <property name=\"\(property.name)\" type=\"\(property.signature)\" access=\"read\">\n"
            text += "      <annotation name=\"org.freedesktop.DBus.Property.EmitsChangedSignal\""
            text += " value=\"\(property.changes.rawValue)\"/>\n    </property>\n"
        }
        return text + "  </interface>\n"
    }

    private static func element(_ tag: String, _ name: String, _ arguments: [String]) -> String {
        if arguments.isEmpty { return "    <\(tag) name=\"\(name)\"/>\n" }
        return "    <\(tag) name=\"\(name)\">\n\(arguments.joined())    </\(tag)>\n"
    }

    private static func elements(_ arguments: Arguments, direction: String? = nil) -> [String] {
        let direction = direction.map { " direction=\"\($0)\"" } ?? ""
        return arguments.map { "      <arg name=\"\($0.key)\" type=\"\($0.value)\"\(direction)/>\n" }
    }

    private static let standard = """
          <interface name="\(StandardInterfaces.introspectable)">
            <method name="Introspect">
              <arg name="xml_data" type="s" direction="out"/>
            </method>
          </interface>
          <interface name="\(StandardInterfaces.properties)">
            <method name="Get">
              <arg name="interface_name" type="s" direction="in"/>
              <arg name="property_name" type="s" direction="in"/>
              <arg name="value" type="v" direction="out"/>
            </method>
            <method name="GetAll">
              <arg name="interface_name" type="s" direction="in"/>
              <arg name="properties" type="a{sv}" direction="out"/>
            </method>
            <method name="Set">
              <arg name="interface_name" type="s" direction="in"/>
              <arg name="property_name" type="s" direction="in"/>
              <arg name="value" type="v" direction="in"/>
            </method>
            <signal name="PropertiesChanged">
              <arg name="interface_name" type="s"/>
              <arg name="changed_properties" type="a{sv}"/>
              <arg name="invalidated_properties" type="as"/>
            </signal>
          </interface>
          <interface name="\(StandardInterfaces.peer)">
            <method name="Ping"/>
            <method name="GetMachineId">
              <arg name="machine_uuid" type="s" direction="out"/>
            </method>
          </interface>

        """
}

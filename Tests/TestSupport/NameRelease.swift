// Gives up a name on the bus while the connection stays.

package import DBus

extension Connection {
    package func releaseName(_ name: String) { send(.busCall("ReleaseName", [.string(name)], noReply: true)) }
}

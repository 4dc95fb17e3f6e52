// Prints why the extension for GNOME Shell does not trust the other connection on the bus, or "trusted".
//
// usage: gjs -m gnome-trust.js MODULE [PIDFD]
//   PIDFD: stands for the one that a newer bus passes, whatever process ID it says.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import System from 'system';

const [module, pidfd] = System.programArgs;
const {findProblem} = await import(`file://${module}`);
const bus = Gio.DBus.session;

/** A connection to a newer bus. */
const newer = {
    call_with_unix_fd_list(...parameters) {
        parameters.at(-1)(this, null);
    },
    call_with_unix_fd_list_finish() {
        const descriptors = new Gio.UnixFDList();
        const credentials = {
            ProcessID: new GLib.Variant('u', new Gio.Credentials().get_unix_pid()),
            ProcessFD: new GLib.Variant('h', descriptors.append(Number(pidfd))),
        };
        return [new GLib.Variant('(a{sv})', [credentials]), descriptors];
    },
};

function otherName() {
    const reply = bus.call_sync('org.freedesktop.DBus', '/org/freedesktop/DBus', 'org.freedesktop.DBus', 'ListNames',
        null, null, Gio.DBusCallFlags.NONE, -1, null);
    return reply.deepUnpack()[0].find(name => name.startsWith(':') && name !== bus.get_unique_name());
}

const problem = await (pidfd ? findProblem(':1.1', newer, null) : findProblem(otherName(), bus, null));
print(problem ?? 'trusted');

// The connection to permd: who owns its name, calls, and signals.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';

import {EventEmitter} from 'resource:///org/gnome/shell/misc/signals.js';

import {findProblem} from './trust.js';

const NAME = 'org.permd';
const PATH = '/org/permd';
/** The interfaces whose signals are sent to subscribers only. */
const SUBSCRIPTIONS = ['org.permd.Policy1', 'org.permd.Usage1'];

/**
 * Follows the owner of permd's name. Emits `appeared` when one is there that is trusted, `vanished` when it has left, and
 * `signal` with the name and the arguments of each signal that it sends.
 */
export class Daemon extends EventEmitter {
    constructor() {
        super();
        /** The unique name of permd; null while there is none. */
        this.owner = null;
        this._cancellable = new Gio.Cancellable();
    }

    start() {
        this._watch = Gio.bus_watch_name(Gio.BusType.SESSION, NAME, Gio.BusNameWatcherFlags.NONE,
            (_connection, _name, owner) => this._examine(owner),
            () => this._leave());
    }

    destroy() {
        // The shell stays on the bus.
        for (const iface of SUBSCRIPTIONS)
            this.post(iface, 'Unsubscribe');
        this._cancellable.cancel();
        Gio.bus_unwatch_name(this._watch);
        this._unsubscribe();
        this.owner = null;
        this.disconnectAll();
    }

    /**
     * Calls a method of permd without waiting for its reply, also at the end of the extension.
     *
     * @param {string} iface - the interface
     * @param {string} method - the method
     * @param {GLib.Variant?} parameters - the arguments
     */
    post(iface, method, parameters = null) {
        if (this.owner) {
            Gio.DBus.session.call(this.owner, PATH, iface, method, parameters, null,
                Gio.DBusCallFlags.NO_AUTO_START, -1, null, null);
        }
    }

    /** Whether the extension is disabled: what was begun must touch nothing any more. */
    get isOver() {
        return this._cancellable.is_cancelled();
    }

    /**
     * Calls a method of permd; the promise fails if it does, or if permd is absent.
     *
     * @param {string} iface - the interface
     * @param {string} method - the method
     * @param {GLib.Variant?} parameters - the arguments
     * @returns {Promise<Array>} the unpacked reply
     */
    async call(iface, method, parameters = null) {
        if (!this.owner)
            throw new Error('permd is not running');
        const reply = await callBus(this.owner, PATH, iface, method, parameters, this._cancellable);
        // A reply that was there already is not cancelled.
        if (this.isOver)
            throw new Error('the extension is disabled');
        return reply.recursiveUnpack();
    }

    async _examine(owner) {
        this._leave();
        this._candidate = owner;
        let problem = null;
        try {
            problem = await findProblem(owner, Gio.DBus.session, this._cancellable);
        } catch (error) {
            problem = error.message;
        }
        // Another one may own the name by now, or nobody.
        if (this.isOver || this._candidate !== owner)
            return;
        if (problem) {
            console.warn(`permd: the owner of ${NAME} is not trusted: ${problem}`);
            return;
        }
        this.owner = owner;
        this._signals = Gio.DBus.session.signal_subscribe(owner, null, null, PATH, null, Gio.DBusSignalFlags.NONE,
            (_connection, _sender, _path, _iface, name, parameters) => {
                this.emit('signal', name, parameters.recursiveUnpack());
            });
        for (const name of SUBSCRIPTIONS)
            this.post(name, 'Subscribe');
        this.emit('appeared');
    }

    _leave() {
        this._candidate = null;
        if (!this.owner)
            return;
        this._unsubscribe();
        this.owner = null;
        this.emit('vanished');
    }

    _unsubscribe() {
        if (this._signals)
            Gio.DBus.session.signal_unsubscribe(this._signals);
        this._signals = 0;
    }
}

export function callBus(name, path, iface, method, parameters, cancellable) {
    return new Promise((resolve, reject) => {
        Gio.DBus.session.call(name, path, iface, method, parameters, null, Gio.DBusCallFlags.NO_AUTO_START, -1,
            cancellable, (connection, result) => {
                try {
                    resolve(connection.call_finish(result));
                } catch (error) {
                    reject(error);
                }
            });
    });
}

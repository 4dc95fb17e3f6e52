// A dialog takes the keyboard at once, so it comes when the person pauses.

import GLib from 'gi://GLib';

/** Milliseconds without any input. */
const LENGTH = 700;
/** Milliseconds after which a person who does not pause is asked all the same. */
const PATIENCE = 5000;

export class Pause {
    /**
     * @param {Function} body - is called once, unless this is cancelled before
     */
    constructor(body) {
        const end = () => {
            this.cancel();
            body();
            return GLib.SOURCE_REMOVE;
        };
        this._monitor = global.backend.get_core_idle_monitor();
        this._watch = this._monitor.add_idle_watch(LENGTH, end);
        this._timeout = GLib.timeout_add(GLib.PRIORITY_DEFAULT, PATIENCE, end);
    }

    cancel() {
        if (!this._timeout)
            return;
        this._monitor.remove_watch(this._watch);
        GLib.source_remove(this._timeout);
        this._timeout = 0;
    }
}

// Prevents accidental answers: they count only after a period without input.

import Clutter from 'gi://Clutter';
import GLib from 'gi://GLib';
import GObject from 'gi://GObject';

/** Milliseconds without a press, counted from when the dialog is on the screen. */
const CALM = 500;

const PRESSES = [Clutter.EventType.KEY_PRESS, Clutter.EventType.BUTTON_PRESS, Clutter.EventType.TOUCH_BEGIN];
const POINTING = [Clutter.EventType.BUTTON_PRESS, Clutter.EventType.TOUCH_BEGIN];

/**
 * Decides which presses may answer. A fixed delay is not enough, because the person may be typing or clicking when the
 * dialog appears: each press during the delay restarts it.
 */
export const InputDelay = GObject.registerClass({
    Signals: {'awake': {}, 'asleep': {}},
}, class InputDelay extends GObject.Object {
    /** Why this shell's presses cannot be told from others; null if they can. */
    static get problem() {
        return PRESSES.includes(undefined) ? 'its input events have other names' : null;
    }

    _init() {
        super._init();
        this.isAwake = false;
        this._timeout = 0;
        this._movedAt = 0;
    }

    /** The dialog appeared. */
    arm() {
        this.disarm();
        if (this.isAwake) {
            this.isAwake = false;
            this.emit('asleep');
        }
        // The low priority handles all pending events first: a press from before must not be seen after.
        this._timeout = GLib.timeout_add(GLib.PRIORITY_DEFAULT_IDLE, CALM, () => {
            this._timeout = 0;
            this.isAwake = true;
            this.emit('awake');
            return GLib.SOURCE_REMOVE;
        });
    }

    disarm() {
        if (this._timeout)
            GLib.source_remove(this._timeout);
        this._timeout = 0;
    }

    /** Something has moved under the pointer: the second click of a double click must not reach it. */
    moved() {
        this._movedAt = GLib.get_monotonic_time();
    }

    /** Returns whether the event must go no further. */
    stops(event) {
        const type = event.type();
        if (!PRESSES.includes(type))
            return false;
        if (!this.isAwake) {
            this.arm();
            return true;
        }
        if (POINTING.includes(type))
            return GLib.get_monotonic_time() - this._movedAt < CALM * 1000;
        // A key that is held down was pressed for something else, or has had its effect.
        return (event.get_flags() & Clutter.EventFlags.FLAG_REPEATED) !== 0 && answers(event);
    }
});

function answers(event) {
    return [Clutter.KEY_Escape, Clutter.KEY_space, Clutter.KEY_KP_Space, Clutter.KEY_Return, Clutter.KEY_KP_Enter,
        Clutter.KEY_ISO_Enter].includes(event.get_key_symbol());
}

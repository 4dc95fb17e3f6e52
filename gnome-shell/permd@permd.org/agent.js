// The shell as an agent of permd: org.permd.Agent1. Prompts are dialogs of the shell.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';

import {parseBehind, parseDetails, parseDevices} from './details.js';
import {InputDelay} from './inputDelay.js';
import {Pause} from './pause.js';
import {PromptDialog} from './prompt.js';

const PATH = '/org/permd/agent/GnomeShell';
const MANAGER = 'org.permd.AgentManager1';
const INTERFACE = `
<node>
  <interface name="org.permd.Agent1">
    <method name="Prompt">
      <arg name="prompt" type="o" direction="in"/>
      <arg name="details" type="a{sv}" direction="in"/>
      <arg name="outcome" type="s" direction="out"/>
      <arg name="decisions" type="a{sa{sv}}" direction="out"/>
    </method>
    <method name="Update">
      <arg name="prompt" type="o" direction="in"/>
      <arg name="details" type="a{sv}" direction="in"/>
    </method>
    <method name="Withdraw">
      <arg name="prompt" type="o" direction="in"/>
      <arg name="why" type="s" direction="in"/>
    </method>
  </interface>
</node>`;

export class Agent {
    constructor(daemon) {
        this._daemon = daemon;
        /** The prompt that is shown or about to be: its path, its dialog, its call, and the pause that it waits for. */
        this._open = null;
        /** Why this shell cannot ask, so that another agent does; null if it can. */
        this._problem = InputDelay.problem;
        this._object = Gio.DBusExportedObject.wrapJSObject(INTERFACE, this);
        this._object.export(Gio.DBus.session, PATH);
        daemon.connectObject(
            'appeared', () => this._register(),
            'vanished', () => this._end('permd has left the bus'), this);
    }

    destroy() {
        this._leave('the extension is disabled');
        this._daemon.disconnectObject(this);
        this._object.unexport();
    }

    async _register() {
        if (this._problem) {
            console.error(`permd: this shell cannot ask: ${this._problem}`);
            return;
        }
        try {
            await this._daemon.call(MANAGER, 'RegisterAgent', new GLib.Variant('(oa{sv})', [PATH, {
                level: new GLib.Variant('s', 'system'),
                updates: new GLib.Variant('b', true),
            }]));
        } catch (error) {
            if (!this._daemon.isOver)
                console.warn(`permd: the agent is not registered: ${error.message}`);
        }
    }

    // org.permd.Agent1

    PromptAsync([path, details], invocation) {
        if (!this._admits(invocation))
            return;
        if (this._open) {
            refuse(invocation, Gio.DBusError.LIMITS_EXCEEDED, 'a prompt is open already');
            return;
        }
        try {
            const prompt = parseDetails(details);
            // Questions of a newer permd: another agent may know them.
            if (prompt.items.length === 0)
                throw new Error('none of the questions is known');
            const dialog = new PromptDialog(prompt, this._daemon);
            dialog.connect('answered', () => this._answer(dialog));
            dialog.connect('failed', (_, why) => this._fail(why));
            this._open = {path, dialog, invocation, pause: new Pause(() => this._show(dialog))};
        } catch (error) {
            console.warn(`permd: ${error.message}`);
            refuse(invocation, Gio.DBusError.FAILED, error.message);
        }
    }

    _show(dialog) {
        try {
            if (dialog.open())
                return;
            // On X11 an app may keep the keyboard and the pointer to itself, as with an open menu.
            this._end('an app keeps the shell from showing a dialog');
            // permd unregisters agents that fail three times in a row.
            this._register();
        } catch (error) {
            console.warn(`permd: ${error.message}`);
            this._end(error.message);
        }
    }

    /** A shell whose presses may answer unmeant shows no prompt any more. */
    _fail(why) {
        this._problem = why;
        this._leave(why);
        console.error(`permd: this shell cannot ask: ${why}`);
    }

    /** Whoever unregisters gets its prompt withdrawn, which is no failure; the prompt goes to the next agent. */
    _leave(why) {
        this._daemon.post(MANAGER, 'UnregisterAgent', new GLib.Variant('(o)', [PATH]));
        this._end(why);
    }

    UpdateAsync([path, details], invocation) {
        if (!this._admits(invocation))
            return;
        if (this._open?.path === path) {
            this._open.dialog.showBehind(parseBehind(details));
            this._open.dialog.showDevices(parseDevices(details));
        }
        invocation.return_value(null);
    }

    WithdrawAsync([path, why], invocation) {
        if (!this._admits(invocation))
            return;
        if (this._open?.path === path)
            this._end(why);
        invocation.return_value(null);
    }

    /** Only permd may show prompts to a person. */
    _admits(invocation) {
        if (this._daemon.owner && invocation.get_sender() === this._daemon.owner)
            return true;
        refuse(invocation, Gio.DBusError.ACCESS_DENIED, 'only permd may call this');
        return false;
    }

    _answer(dialog) {
        // The prompt may have ended meanwhile, and another one be open.
        if (this._open?.dialog !== dialog)
            return;
        const {invocation} = this._open;
        this._open = null;
        invocation.return_value(new GLib.Variant('(sa{sa{sv}})', [dialog.outcome, dialog.decisions]));
    }

    _end(why) {
        if (!this._open)
            return;
        const {dialog, invocation, pause} = this._open;
        this._open = null;
        pause.cancel();
        dialog.end();
        refuse(invocation, Gio.DBusError.FAILED, why);
    }
}

function refuse(invocation, code, message) {
    invocation.return_error_literal(Gio.DBusError, code, message);
}

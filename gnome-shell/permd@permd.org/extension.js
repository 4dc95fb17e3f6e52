// The parts of the extension, which live while a session is unlocked: it has no session modes but the user's.

import {bindtextdomain} from 'gettext';

import {Extension} from 'resource:///org/gnome/shell/extensions/extension.js';

import {Agent} from './agent.js';
import {Daemon} from './daemon.js';
import {Indicator} from './indicator.js';
import {Switches} from './switches.js';
import {TakenBack} from './takenBack.js';

export default class PermdExtension extends Extension {
    enable() {
        // The catalogs are in the prefix of the extension, which need not be the shell's.
        const catalogs = this.dir.resolve_relative_path('../../../locale');
        if (catalogs.query_exists(null))
            bindtextdomain(this.metadata['gettext-domain'], catalogs.get_path());

        this._daemon = new Daemon();
        this._parts = [
            new Agent(this._daemon), new Indicator(this._daemon), new Switches(this._daemon),
            new TakenBack(this._daemon),
        ];
        this._daemon.start();
    }

    disable() {
        // Parts first: they take leave of the daemon.
        for (const part of this._parts)
            part.destroy();
        this._daemon.destroy();
        this._parts = null;
        this._daemon = null;
    }
}

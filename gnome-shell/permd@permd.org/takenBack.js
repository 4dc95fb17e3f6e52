// Tells, in one notification, of the grants that permd has taken back because nobody used them, and gives them back.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import Shell from 'gi://Shell';

import {gettext as _} from 'resource:///org/gnome/shell/extensions/extension.js';
import * as Main from 'resource:///org/gnome/shell/ui/main.js';

import {callBus} from './daemon.js';
import * as Texts from './texts.js';

const POLICY = 'org.permd.Policy1';
const NOTIFICATIONS =
    ['org.freedesktop.Notifications', '/org/freedesktop/Notifications', 'org.freedesktop.Notifications'];
const SETTINGS = 'org.permd.Settings';
/** Seconds for which it is new: the extension is disabled while the screen is locked. */
const NEWNESS = 3600;
/** So many apps are named at most. */
const MOST = 6;
/** Keeps what was told while the extension is disabled. */
const told = new Set();

export class TakenBack {
    constructor(daemon) {
        this._daemon = daemon;
        this._grants = [];
        this._id = 0;
        const [name, path, iface] = NOTIFICATIONS;
        this._subscriptions = [
            Gio.DBus.session.signal_subscribe(name, iface, 'ActionInvoked', path, null, Gio.DBusSignalFlags.NONE,
                (_bus, _sender, _path, _interface, _signal, values) => this._choose(...values.recursiveUnpack())),
            Gio.DBus.session.signal_subscribe(name, iface, 'NotificationClosed', path, null, Gio.DBusSignalFlags.NONE,
                (_bus, _sender, _path, _interface, _signal, values) => this._closed(values.recursiveUnpack()[0])),
        ];
        daemon.connectObject(
            'appeared', () => this._read(),
            'signal', (_daemon, signal, values) => {
                if (signal === 'DecisionChanged' && values[2] === '')
                    this._read();
            }, this);
    }

    destroy() {
        this._daemon.disconnectObject(this);
        for (const id of this._subscriptions)
            Gio.DBus.session.signal_unsubscribe(id);
    }

    async _read() {
        try {
            const since = Math.floor(Date.now() / 1000) - NEWNESS;
            const filter = {outcome: new GLib.Variant('s', 'reset'), since: new GLib.Variant('t', since)};
            const [rows] = await this._daemon.call(POLICY, 'ListHistory', new GLib.Variant('(a{sv})', [filter]));
            const fresh = rows.filter(row => row.by === 'unused' && !told.has(keyOf(row)));
            if (fresh.length === 0)
                return;
            for (const row of fresh)
                told.add(keyOf(row));
            this._grants.push(...fresh.map(({app, permission}) => ({app, permission})));
            await this._show();
        } catch (error) {
            console.debug(`permd: ${error.message}`);
        }
    }

    async _show() {
        const apps = [...new Set(this._grants.map(({app}) => app))];
        const lines = await Promise.all(apps.slice(0, MOST).map(async app => {
            const filter = {app: new GLib.Variant('s', app)};
            const [[row]] = await this._daemon.call(POLICY, 'ListStatuses', new GLib.Variant('(a{sv})', [filter]));
            const names = this._grants.filter(grant => grant.app === app)
                .map(({permission}) => Texts.permissionName(permission));
            return `${GLib.markup_escape_text(row?.app_name ?? app, -1)}: ${names.join(', ')}`;
        }));
        const hints = {
            urgency: new GLib.Variant('y', 0),
            'desktop-entry': new GLib.Variant('s', SETTINGS),
        };
        const actions = ['undo', _('Undo'), 'permissions', _('Permissions…')];
        const text = lines.sort().join('\n') + (apps.length > MOST ? '\n…' : '');
        const reply = await callBus(...NOTIFICATIONS, 'Notify', new GLib.Variant('(susssasa{sv}i)',
            ['permd', this._id, 'edit-undo-symbolic', _('Taken back, because nobody used it'), text, actions, hints, -1]),
        null);
        [this._id] = reply.recursiveUnpack();
    }

    _closed(id) {
        if (id !== this._id)
            return;
        this._id = 0;
        this._grants = [];
    }

    _choose(id, action) {
        if (id !== this._id)
            return;
        if (action === 'undo')
            this._giveBack(this._grants);
        else
            Shell.AppSystem.get_default().lookup_app(`${SETTINGS}.desktop`)?.activate();
    }

    /** Grants them again, where nothing else was decided meanwhile. */
    async _giveBack(grants) {
        try {
            for (const {app, permission} of grants) {
                const filter = {app: new GLib.Variant('s', app), permission: new GLib.Variant('s', permission)};
                const [decisions] =
                    await this._daemon.call(POLICY, 'ListDecisions', new GLib.Variant('(a{sv})', [filter]));
                if (decisions.length > 0)
                    continue;
                const options = {by: new GLib.Variant('s', 'person')};
                await this._daemon.call(POLICY, 'SetDecision',
                    new GLib.Variant('(sssa{sv})', [app, permission, 'grant', options]));
            }
        } catch (error) {
            if (!this._daemon.isOver)
                Main.notifyError(Texts.fill(_('Nothing was changed: %@'), error.message));
        }
    }
}

function keyOf({app, permission, time}) {
    return `${time} ${permission} ${app}`;
}

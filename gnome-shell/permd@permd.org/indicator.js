// What is in use now, in the top bar. Has the name of permd-indicator, which the bus starts otherwise.

import Clutter from 'gi://Clutter';
import Gio from 'gi://Gio';
import GLib from 'gi://GLib';
import GObject from 'gi://GObject';
import Shell from 'gi://Shell';
import St from 'gi://St';

import {gettext as _} from 'resource:///org/gnome/shell/extensions/extension.js';
import * as Main from 'resource:///org/gnome/shell/ui/main.js';
import * as PanelMenu from 'resource:///org/gnome/shell/ui/panelMenu.js';
import * as PopupMenu from 'resource:///org/gnome/shell/ui/popupMenu.js';

import * as Texts from './texts.js';
import {canBeStopped, Uses} from './uses.js';
import * as Widgets from './widgets.js';

const NAME = 'org.permd.Indicator';
const SETTINGS = 'org.permd.Settings.desktop';
/** The uses that the menu shows. */
const MOST = 8;

export class Indicator {
    constructor(daemon) {
        this._daemon = daemon;
        this._uses = new Uses();
        this._button = null;
        this._name = Gio.bus_own_name_on_connection(Gio.DBus.session, NAME, Gio.BusNameOwnerFlags.REPLACE, null, null);
        daemon.connectObject(
            'appeared', () => this._read(),
            'vanished', () => this._clear(),
            'signal', (_daemon, name, values) => this._handle(name, values), this);
    }

    destroy() {
        this._daemon.disconnectObject(this);
        Gio.bus_unown_name(this._name);
        this._clear();
    }

    async _read() {
        try {
            const [rows] = await this._daemon.call('org.permd.Usage1', 'ListUses');
            for (const use of rows)
                this._uses.started(use);
            this._sync();
        } catch (error) {
            console.debug(`permd: ${error.message}`);
        }
    }

    _clear() {
        this._uses.clear();
        this._sync();
    }

    _handle(name, values) {
        switch (name) {
        case 'UseStarted':
            this._uses.started(...values);
            break;
        case 'UseEnded':
            this._uses.ended(values[0]);
            break;
        case 'DecisionChanged':
            this._judge(...values);
            return;
        case 'SwitchChanged':
            this._judge(null, values[0]);
            return;
        default:
            return;
        }
        this._sync();
    }

    /** Asks for the status of what that app, or any, uses. */
    async _judge(app, permission) {
        const groups = this._uses.groups().filter(group =>
            group.app && group.permission === permission && (!app || group.app === app));
        try {
            await Promise.all(groups.map(async group => {
                const filter = {app: new GLib.Variant('s', group.app), permission: new GLib.Variant('s', permission)};
                const [[row]] = await this._daemon.call('org.permd.Policy1', 'ListStatuses',
                    new GLib.Variant('(a{sv})', [filter]));
                if (row)
                    this._uses.changed(group.app, permission, statusOf(row));
            }));
            this._sync();
        } catch (error) {
            console.debug(`permd: ${error.message}`);
        }
    }

    _sync() {
        const groups = this._uses.groups();
        if (groups.length === 0) {
            this._button?.destroy();
            this._button = null;
            return;
        }
        if (!this._button) {
            this._button = new UseButton(group => this._stop(group));
            Main.panel.addToStatusArea('permd', this._button);
        }
        this._button.showGroups(groups);
    }

    /**
     * Refuses the permission until the session ends. A reset would not do: an enforcement point would ask the person
     * again at once, or let a program outside a sandbox pass.
     */
    async _stop({app, permission}) {
        try {
            const options = {duration: new GLib.Variant('s', 'session'), by: new GLib.Variant('s', 'person')};
            await this._daemon.call('org.permd.Policy1', 'SetDecision',
                new GLib.Variant('(sssa{sv})', [app, permission, 'deny', options]));
        } catch (error) {
            if (!this._daemon.isOver)
                Main.notifyError(Texts.fill(_('Nothing was changed: %@'), error.message));
        }
    }
}

const UseButton = GObject.registerClass(
class UseButton extends PanelMenu.Button {
    _init(onStop) {
        super._init(0.5, _('In Use Now'));
        this._onStop = onStop;
        this._icons = new St.BoxLayout({style_class: 'panel-status-indicators-box'});
        this.add_child(this._icons);
        this.menu.box.add_style_class_name('permd-uses');
    }

    showGroups(groups) {
        this._icons.destroy_all_children();
        for (const permission of new Set(groups.map(group => group.permission))) {
            this._icons.add_child(new St.Icon({
                icon_name: Texts.ICONS[permission],
                style_class: 'system-status-icon privacy-indicator',
            }));
        }
        this.accessible_name = `${_('In Use Now')}: ${groups.map(group => describe(group)).join(', ')}`;
        this.menu.removeAll();
        for (const group of groups.slice(0, MOST))
            this.menu.addMenuItem(this._item(group));
        if (groups.length > MOST)
            this.menu.addMenuItem(line(new St.Label({text: Texts.fill(_('%@ more'), `${groups.length - MOST}`)})));
        const settings = Shell.AppSystem.get_default().lookup_app(SETTINGS);
        if (settings) {
            this.menu.addMenuItem(new PopupMenu.PopupSeparatorMenuItem());
            this.menu.addAction(_('Permissions…'), () => settings.activate());
        }
    }

    _item(group) {
        const facts = [
            Texts.permissionName(group.permission),
            Texts.fill(_('since %@'), Texts.shortTime(group.since)),
            Texts.objection(group.status),
        ].filter(text => text).join(' · ');
        const texts = Widgets.column({y_align: Clutter.ActorAlign.CENTER},
            Widgets.label(nameOf(group), 'permd-strong'), Widgets.caption(facts));
        if (!group.isCut)
            texts.add_child(Widgets.caption(_('It has opened the device itself. Only quitting it ends that.')));
        const item = line(new St.Icon({icon_name: Texts.ICONS[group.permission], style_class: 'popup-menu-icon'}), texts);
        if (canBeStopped(group)) {
            const stop = new St.Button({
                label: _('Stop'),
                style_class: 'button permd-stop',
                accessible_name: Texts.fill(_('Stop %@'), describe(group)),
                can_focus: true,
                y_align: Clutter.ActorAlign.CENTER,
            });
            stop.connect('clicked', () => this._onStop(group));
            item.add_child(stop);
        }
        return item;
    }
});

/** As if there were a usable device: something is used, whatever permd thinks of the device. */
function statusOf({status, decision, rule}) {
    if (status !== 'unavailable')
        return status;
    return decision === 'grant' || rule ? 'granted' : 'undetermined';
}

/** An item that says something, and cannot be chosen. */
function line(...children) {
    const item = new PopupMenu.PopupBaseMenuItem({activate: false, hover: false, can_focus: false});
    for (const child of children)
        item.add_child(child);
    return item;
}

function nameOf({app, name}) {
    return app && name ? Texts.isolated(name) : _('A program that cannot be identified');
}

function describe(group) {
    return Texts.fill(_('%@: %@'), nameOf(group), Texts.permissionName(group.permission));
}

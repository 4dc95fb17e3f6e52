// Switches of the camera and the microphone for all apps, in the quick settings.

import GLib from 'gi://GLib';
import GObject from 'gi://GObject';

import * as Main from 'resource:///org/gnome/shell/ui/main.js';
import * as QuickSettings from 'resource:///org/gnome/shell/ui/quickSettings.js';

import * as Texts from './texts.js';

const POLICY = 'org.permd.Policy1';
/** What has a switch here, and the icon while it is off. */
const OFF_ICONS = {camera: 'camera-disabled-symbolic', microphone: 'microphone-disabled-symbolic'};

/** Shown while permd has switches. */
export class Switches {
    constructor(daemon) {
        this._daemon = daemon;
        this._indicator = new SwitchIndicator((permission, isOn) => this._set(permission, isOn));
        Main.panel.statusArea.quickSettings.addExternalIndicator(this._indicator);
        // At login, the shell adds them in the opposite order.
        const [camera, microphone] = this._indicator.quickSettingsItems;
        camera.get_parent().set_child_above_sibling(microphone, camera);
        daemon.connectObject(
            'appeared', () => this._read(),
            'vanished', () => this._indicator.showStates({}),
            'signal', (_daemon, name, values) => {
                if (name === 'SwitchChanged')
                    this._indicator.change(...values);
            }, this);
    }

    destroy() {
        this._daemon.disconnectObject(this);
        for (const item of this._indicator.quickSettingsItems)
            item.destroy();
        this._indicator.destroy();
    }

    async _read() {
        try {
            const [switches] = await this._daemon.call('org.freedesktop.DBus.Properties', 'Get',
                new GLib.Variant('(ss)', [POLICY, 'Switches']));
            this._indicator.showStates(switches);
        } catch (error) {
            // An older permd has none.
            console.debug(`permd: ${error.message}`);
        }
    }

    async _set(permission, isOn) {
        try {
            await this._daemon.call(POLICY, 'SetSwitch', new GLib.Variant('(sb)', [permission, isOn]));
        } catch (error) {
            if (!this._daemon.isOver)
                Main.notifyError(Texts.permissionName(permission), error.message);
        }
    }
}

const SwitchIndicator = GObject.registerClass(
class SwitchIndicator extends QuickSettings.SystemIndicator {
    _init(onToggle) {
        super._init();
        this._states = {};
        this._icons = {};
        this._toggles = {};
        for (const permission of Object.keys(OFF_ICONS)) {
            this._icons[permission] = this._addIndicator();
            this._icons[permission].icon_name = OFF_ICONS[permission];
            const toggle = new QuickSettings.QuickToggle({title: Texts.permissionName(permission), visible: false});
            // It shows what permd says, not what was pressed.
            toggle.connect('clicked', () => onToggle(permission, !toggle.checked));
            this._toggles[permission] = toggle;
            this.quickSettingsItems.push(toggle);
        }
        this.showStates({});
    }

    showStates(states) {
        this._states = states;
        for (const [permission, toggle] of Object.entries(this._toggles)) {
            const isOn = states[permission];
            toggle.visible = typeof isOn === 'boolean';
            toggle.checked = isOn === true;
            toggle.icon_name = isOn === false ? OFF_ICONS[permission] : Texts.ICONS[permission];
            this._icons[permission].visible = isOn === false;
        }
    }

    change(permission, isOn) {
        this.showStates({...this._states, [permission]: isOn});
    }
});

// Runs the agent of the extension for GNOME Shell with stubs in place of the shell, and prints what permd is answered.
//
// usage: gjs -m gnome-agent.js FOLDER
//   FOLDER: has agent.js and details.js of the extension, and stubs of the modules that need the shell.

import GLib from 'gi://GLib';
import System from 'system';

const {Agent} = await import(`file://${System.programArgs[0]}/agent.js`);
const {dialogs} = await import(`file://${System.programArgs[0]}/prompt.js`);

const daemon = {owner: ':1.1', connectObject() {}};

function call(name) {
    return {
        get_sender: () => daemon.owner,
        return_value: value => print(`${name}: ${value?.deepUnpack()[0] ?? 'done'}`),
        return_error_literal: (_domain, _code, message) => print(`${name}: ${message}`),
    };
}

const agent = new Agent(daemon);
const item = {permission: new GLib.Variant('s', 'camera')};
const details = {items: new GLib.Variant('aa{sv}', [item])};

// The prompt is withdrawn in the turn in which a person answers it.
agent.PromptAsync(['/1', details], call('first'));
agent.WithdrawAsync(['/1', 'the app has left'], call('withdrawal'));
dialogs[0].answered();

// Another one has its place by then.
agent.PromptAsync(['/2', details], call('second'));
dialogs[0].answered();
dialogs[1].answered();

// What a prompt and the indicator say: the strings of permd's other programs, and their catalogs (domain permd).

import GLib from 'gi://GLib';

import {gettext as _} from 'resource:///org/gnome/shell/extensions/extension.js';

/** Names in the icon theme. */
export const ICONS = {
    camera: 'camera-web-symbolic',
    microphone: 'audio-input-microphone-symbolic',
    bluetooth: 'bluetooth-active-symbolic',
    location: 'find-location-symbolic',
};

/**
 * @param {string} pattern - a string with a `%@` for each value
 * @param {...string} values - what replaces them, in their order
 * @returns {string} the text; values are never formats
 */
export function fill(pattern, ...values) {
    return pattern.split('%@').reduce((text, piece, index) => `${text}${values[index - 1] ?? ''}${piece}`);
}

/**
 * @param {string} name - text from somebody else
 * @returns {string} the same with a direction of its own (Unicode FSI and PDI)
 */
export function isolated(name) {
    return `\u2068${name}\u2069`;
}

/** The device that the app would get, and who else uses it. */
export function device({deviceName, usedBy}) {
    const user = usedBy ? fill(_('in use by %@'), isolated(usedBy)) : '';
    return [deviceName, user].filter(words => words).join(' · ');
}

export function permissionName(permission) {
    switch (permission) {
    case 'camera': return _('Camera');
    case 'microphone': return _('Microphone');
    case 'bluetooth': return _('Bluetooth');
    case 'location': return _('Location');
    default: return permission;
    }
}

/** Each is a string of its own, because languages join them differently. The keys are in alphabetic order. */
function questions() {
    return {
        'camera': _('%@ wants to use your camera'),
        'microphone': _('%@ wants to use your microphone'),
        'bluetooth': _('%@ wants to find and use Bluetooth devices nearby'),
        'location': _('%@ wants to know your location'),
        'camera microphone': _('%@ wants to use your camera and microphone'),
        'bluetooth camera': _('%@ wants to use your camera and Bluetooth'),
        'camera location': _('%@ wants to use your camera and know your location'),
        'bluetooth microphone': _('%@ wants to use your microphone and Bluetooth'),
        'location microphone': _('%@ wants to use your microphone and know your location'),
        'bluetooth location': _('%@ wants to find and use Bluetooth devices nearby and know your location'),
        'bluetooth camera microphone': _('%@ wants to use your camera, microphone and Bluetooth'),
        'camera location microphone': _('%@ wants to use your camera and microphone and know your location'),
        'bluetooth camera location': _('%@ wants to use your camera and Bluetooth and know your location'),
        'bluetooth location microphone': _('%@ wants to use your microphone and Bluetooth and know your location'),
        'bluetooth camera location microphone':
            _('%@ wants to use your camera, microphone and Bluetooth and know your location'),
    };
}

function isProgram(prompt) {
    return prompt.app.startsWith('exe:');
}

/** The question. Only a portal asks some, one at a time; its title is the question then. */
export function heading(prompt) {
    const permissions = prompt.items.filter(item => !item.isOfPortal).map(item => item.permission);
    if (permissions.length === 0)
        return prompt.items[0].title;
    let name = isolated(prompt.name);
    // Without a desktop entry, which would give it an icon.
    if (isProgram(prompt) && !prompt.icon)
        name = fill(_('Unknown program %@'), fill(_('“%@”'), name));
    return fill(questions()[permissions.sort().join(' ')], name);
}

/** The app's reason, marked as the app's words; empty if there is none. */
export function reason(item) {
    const words = item.hasDialog ? item.words : item.reason;
    return words ? fill(_('“%@”'), isolated(words)) : '';
}

/** The app's reasons: the common one, that there is none, and that of each item that is not the common one. */
export function reasons(prompt) {
    const all = prompt.items.map(reason);
    if (all.some(words => words !== all[0]))
        return {common: '', missing: '', each: all};
    const isSilent = !all[0] && !prompt.explanation && !prompt.items.some(item => item.hasDialog);
    return {common: all[0], missing: isSilent ? _('The app does not say why.') : '', each: all.map(() => '')};
}

/** Introduces the app's explanation. */
export function says() {
    return _('The app says:');
}

export function grantLabel(duration) {
    switch (duration) {
    case 'once': return _('Allow this time');
    case 'until': return _('Allow for one hour');
    case 'session': return _('Allow until I log out');
    default: return _('Always allow');
    }
}

export function grantDescription(duration) {
    switch (duration) {
    case 'once': return _('Holds until the app is closed');
    case 'until': return _('Holds for one hour');
    case 'session': return _('Holds until you log out');
    case 'always': return _('Holds until you change it in Permissions');
    default: return '';
    }
}

function minutes(seconds) {
    return `${Math.max(1, Math.round(seconds / 60))}`;
}

export function notNow(prompt) {
    return prompt.pause === null
        ? _('Decides nothing; the app may ask again')
        : fill(_('Decides nothing; the app cannot ask again for %@ minutes'), minutes(prompt.pause));
}

export function pause(prompt) {
    return prompt.pause === null
        ? '' : fill(_('After Not now, the app cannot ask again for %@ minutes.'), minutes(prompt.pause));
}

/** Which apps ask next; empty if none does. */
export function behind({count, apps}) {
    if (count === 0)
        return '';
    const shown = apps.slice(0, 2);
    const names = shown.map(isolated).join(', ');
    return count > shown.length
        ? fill(_('Asking next: %@ and %@ more'), names, `${count - shown.length}`) : fill(_('Asking next: %@'), names);
}

/** A time in the person's language and time zone. */
export function time(seconds, format = '%c') {
    return GLib.DateTime.new_from_unix_local(seconds)?.format(format) ?? `${seconds}`;
}

/** `14:05` if that is today, else the date and the time. */
export function shortTime(seconds) {
    return time(seconds, time(seconds, '%F') === time(Date.now() / 1000, '%F') ? '%H:%M' : '%x %H:%M');
}

/** A line for each thing to know about the app. */
export function details(prompt) {
    const lines = [
        fill(_('Name: %@'), isolated(prompt.name)),
        isProgram(prompt)
            ? fill(_('Program: %@'), isolated(prompt.app.slice('exe:'.length)))
            : fill(_('Identity: %@'), isolated(prompt.app)),
        prompt.isSandboxed
            ? _('In a sandbox: it gets only what it is allowed.')
            : _('Not in a sandbox: it can open devices without asking.'),
    ];
    if (prompt.startedFrom)
        lines.push(fill(_('Started from %@'), isolated(prompt.startedFrom)));
    if (prompt.since !== null)
        lines.push(fill(_('Asked at %@'), time(prompt.since)));
    return lines;
}

function decision(row) {
    const name = permissionName(row.permission);
    const until = typeof row.until === 'number' ? row.until : 0;
    switch (row.decision) {
    case 'deny': return fill(_('%@: not allowed'), name);
    case 'pause': return fill(_('%@: not asked until %@'), name, time(until));
    case 'grant':
        switch (row.duration) {
        case 'once': return fill(_('%@: allowed until the app is closed'), name);
        case 'session': return fill(_('%@: allowed until you log out'), name);
        case 'until': return fill(_('%@: allowed until %@'), name, time(until));
        default: return fill(_('%@: always allowed'), name);
        }
    default: return '';
    }
}

/** What was decided before about what the prompt asks: a line for each decision. */
export function earlier(rows, prompt) {
    const asked = prompt.items.map(item => item.permission);
    const lines = rows.filter(row => asked.includes(row.permission)).map(decision).filter(line => line);
    return lines.length > 0 ? lines : [_('Nothing was decided about this before.')];
}

/** How to change the decision later. */
export function changeLater(prompt, hasWindow) {
    if (hasWindow)
        return _('You can change it later in Permissions.');
    const word = /^[A-Za-z0-9._\-+@/:%,]+$/.test(prompt.app)
        ? prompt.app : `'${prompt.app.replaceAll("'", "'\\''")}'`;
    return fill(_('You can change it later with: %@'), `permctl reset ${word}`);
}

/** Why a use is not one that the person has allowed; empty if it is. */
export function objection(status) {
    switch (status) {
    case 'denied': return _('you have refused it');
    case 'restricted': return _('the administrator forbids it');
    case 'undetermined': return _('you were not asked');
    default: return '';
    }
}

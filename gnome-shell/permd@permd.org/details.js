// A prompt as it comes from permd: values of the right types and of a bounded size, whatever was sent.

const PERMISSIONS = ['camera', 'microphone', 'bluetooth', 'location'];
const PORTAL_QUESTIONS = ['background', 'screenshot', 'speakers', 'wallpaper', 'other'];
const DURATIONS = ['once', 'until', 'session', 'always'];
/** Characters, as permd cuts them. */
const TITLE = 80;
const BODY = 512;
const ICON = 4096;
/** Of a portal's dialog. permd sends no more. */
const MOST_CHOICES = 16;
const MOST_APPS = 5;

/** Controls of characters and of their direction, with which a text could displace others. permd removes them too. */
const CONTROLS = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;

function text(value, limit) {
    if (typeof value !== 'string')
        return '';
    const clean = Array.from(value.slice(0, 4 * limit).replace(CONTROLS, ''));
    return clean.length > limit ? `${clean.slice(0, limit - 1).join('')}…` : clean.join('');
}

/** The middle of a long name is cut: names of one maker's apps differ at the end. */
function name(value) {
    const clean = Array.from(text(value, BODY));
    const half = (TITLE - 1) >> 1;
    return clean.length > TITLE ? `${clean.slice(0, half + 1).join('')}…${clean.slice(-half).join('')}` : clean.join('');
}

function list(value) {
    return Array.isArray(value) ? value : [];
}

function number(value) {
    return typeof value === 'number' && value >= 0 ? value : null;
}

function unpack(details) {
    const values = {};
    for (const [key, value] of Object.entries(details))
        values[key] = value.recursiveUnpack();
    return values;
}

function parseChoice(value) {
    const [id, label, options, initial] = list(value);
    if (typeof id !== 'string' || !Array.isArray(options))
        return null;
    return {
        id,
        label: text(label, TITLE),
        options: options.slice(0, MOST_CHOICES).filter(option => typeof option?.[0] === 'string')
            .map(option => ({id: option[0], label: text(option[1], TITLE)})),
        initial: typeof initial === 'string' ? initial : '',
    };
}

function parseItem(value) {
    const permission = value?.permission;
    const isOfPortal = PORTAL_QUESTIONS.includes(permission);
    if (!isOfPortal && !PERMISSIONS.includes(permission))
        return null;
    const hasDialog = typeof value.title === 'string';
    return {
        permission,
        isOfPortal,
        hasDialog,
        deviceName: text(value.device_name, TITLE),
        usedBy: name(value.used_by),
        reason: text(value.reason, BODY),
        title: text(value.title, TITLE),
        // For permd's own permissions, a portal only repeats the question.
        words: isOfPortal && hasDialog
            ? [text(value.subtitle, BODY), text(value.body, BODY)].filter(words => words).join(' ') : '',
        grantLabel: isOfPortal ? text(value.grant_label, TITLE) : '',
        denyLabel: isOfPortal ? text(value.deny_label, TITLE) : '',
        choices: hasDialog ? list(value.choices).slice(0, MOST_CHOICES).map(parseChoice).filter(choice => choice) : [],
    };
}

/**
 * @param {object} details - what has changed behind a prompt: variants by key
 * @returns {{count: number, apps: string[]}} how many requests wait behind it, and the names of the first apps
 */
export function parseBehind(details) {
    const values = unpack(details);
    return {
        count: number(values.waiting) ?? 0,
        apps: list(values.next).slice(0, MOST_APPS).map(name),
    };
}

/**
 * @param {object} details - what has changed of a prompt: variants by key
 * @returns {Map<string, string>} the names of the devices that the app would get now, by permission
 */
export function parseDevices(details) {
    const items = list(unpack(details).items).slice(0, MOST_CHOICES).map(parseItem).filter(item => item?.deviceName);
    return new Map(items.map(({permission, deviceName}) => [permission, deviceName]));
}

/**
 * @param {object} details - of org.permd.Agent1.Prompt: variants by key
 * @returns {object} the prompt; questions that are not known, and repeated ones, are left out
 */
export function parseDetails(details) {
    const values = unpack(details);
    const items = list(values.items).slice(0, MOST_CHOICES).map(parseItem).filter(item => item);
    const [title, body] = list(values.explanation);
    const app = text(values.app, BODY);
    return {
        app,
        name: name(values.app_name) || app,
        icon: typeof values.app_icon === 'string' && values.app_icon.length <= ICON ? values.app_icon : '',
        isSandboxed: values.sandboxed === true,
        startedFrom: name(values.started_from),
        explanation: typeof title === 'string' ? {title: text(title, TITLE), body: text(body, BODY)} : null,
        items: items.filter((item, index) => items.findIndex(other => other.permission === item.permission) === index),
        durations: DURATIONS.filter(duration => list(values.durations).includes(duration)),
        parentWindow: text(values.parent_window, BODY),
        since: number(values.since),
        pause: number(values.pause),
        behind: parseBehind(details),
    };
}

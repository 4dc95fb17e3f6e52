// Where a prompt is shown: on the monitor of the app's window.

import GLib from 'gi://GLib';
import Shell from 'gi://Shell';

/**
 * @param {object} prompt - the prompt
 * @returns {number} the index of a monitor; -1 if the app has no window that is known as its own
 */
export function monitorOf(prompt) {
    const windows = global.get_window_actors().map(actor => actor.meta_window)
        .filter(window => !window.minimized && window.get_monitor() >= 0 && isOf(window, prompt.app))
        .sort((a, b) => b.get_user_time() - a.get_user_time());
    const focused = windows.find(window => window.has_focus());
    return (focused ?? windows[0])?.get_monitor() ?? -1;
}

/** The forms of identities are those of org.permd(5). */
function isOf(window, app) {
    const [, kind, id] = app.match(/^([a-z]+):(.*)$/s) ?? [];
    switch (kind) {
    case 'flatpak':
        return window.get_sandboxed_app_id() === id;
    case 'snap':
        return Shell.WindowTracker.get_default().get_window_app(window)?.get_id().startsWith(`${id}_`) ?? false;
    case 'exe':
        return isProgram(window.get_pid(), id);
    default:
        return false;
    }
}

/** A script's identity is its interpreter's path and its own; which script a window belongs to is not looked up. */
function isProgram(pid, id) {
    if (pid <= 0)
        return false;
    try {
        const path = GLib.file_read_link(`/proc/${pid}/exe`).replaceAll('%', '%25').replaceAll(':', '%3A');
        return id === path || id.startsWith(`${path}:`);
    } catch {
        return false;
    }
}

/**
 * @param {object} prompt - the prompt
 * @returns {Shell.App?} the installed app that asks
 */
export function installedApp(prompt) {
    const [, kind, id] = prompt.app.match(/^([a-z]+):(.*)$/s) ?? [];
    return kind === 'flatpak' ? Shell.AppSystem.get_default().lookup_app(`${id}.desktop`) : null;
}

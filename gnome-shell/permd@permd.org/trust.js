// Whether a program may speak as permd, by the rule of all clients of permd: it is in no sandbox, forwards nothing for
// sandboxed programs, and is the process that connected. Only the bus and the kernel are asked.

import Gio from 'gi://Gio';
import GLib from 'gi://GLib';

const BUS = 'org.freedesktop.DBus';
/** They forward messages of sandboxed programs under names of their own. */
const PROXIES = ['xdg-dbus-proxy', 'flatpak-dbus-proxy'];

/**
 * Files of another process are never read on the shell's thread: their file system may be that process's own.
 *
 * @param {string} owner - a unique name
 * @param {Gio.DBusConnection} connection - of the bus
 * @param {Gio.Cancellable} cancellable - ends the search
 * @returns {Promise<string?>} why the owner is not trusted; null if it is. It fails if that cannot be found out
 */
export async function findProblem(owner, connection, cancellable) {
    const credentials = await credentialsOf(owner, connection, cancellable);
    try {
        const pid = await pidOf(credentials, cancellable);
        if (!(pid > 0))
            return 'its process is not known';
        const start = await startTime(pid, cancellable);
        const problem = await problemOf(pid, credentials.label, cancellable);
        // Another process may have got its ID meanwhile.
        if (await pidOf(credentials, cancellable) !== pid || await startTime(pid, cancellable) !== start)
            return 'its process has exited';
        return problem;
    } finally {
        if (credentials.pidfd >= 0)
            GLib.close(credentials.pidfd);
    }
}

/** What the bus knows of the process; older buses have no pidfd, which is -1 then. */
function credentialsOf(owner, connection, cancellable) {
    return new Promise((resolve, reject) => {
        connection.call_with_unix_fd_list(BUS, '/org/freedesktop/DBus', BUS, 'GetConnectionCredentials',
            new GLib.Variant('(s)', [owner]), new GLib.VariantType('(a{sv})'), Gio.DBusCallFlags.NONE, -1, null,
            cancellable, (_connection, result) => {
                try {
                    const [reply, descriptors] = connection.call_with_unix_fd_list_finish(result);
                    const [values] = reply.deepUnpack();
                    resolve({
                        pid: values.ProcessID?.deepUnpack() ?? 0,
                        pidfd: values.ProcessFD ? descriptors.get(values.ProcessFD.deepUnpack()) : -1,
                        label: new TextDecoder().decode(values.LinuxSecurityLabel?.deepUnpack() ?? new Uint8Array()),
                    });
                } catch (error) {
                    reject(error);
                }
            });
    });
}

/** A pidfd tells -1 once its process has exited, and 0 in another PID namespace (proc(5)). */
async function pidOf({pid, pidfd}, cancellable) {
    if (pidfd < 0)
        return pid;
    const [, number] = /^Pid:\t(-?\d+)$/m.exec(await read(`/proc/self/fdinfo/${pidfd}`, cancellable)) ?? [];
    return Number(number);
}

/** Field 22 of stat (proc(5)); the command before it may contain any character. */
async function startTime(pid, cancellable) {
    const stat = await read(`/proc/${pid}/stat`, cancellable);
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19];
}

async function problemOf(pid, label, cancellable) {
    const groups = await read(`/proc/${pid}/cgroup`, cancellable);
    if (/(^|[:/&])snap\.[^.]+\./.test(label) || /\/snap\.[^/]*\.(scope|service)/.test(groups))
        return 'it is a snap';
    if (/\/app-flatpak-[^/]*\.scope/.test(groups) || await exists(`/proc/${pid}/root/.flatpak-info`, cancellable))
        return 'it is a flatpak';
    if (await link(`/proc/${pid}/ns/pid`, cancellable) !== await link('/proc/self/ns/pid', cancellable))
        return 'it is in a sandbox';
    const executable = (await link(`/proc/${pid}/exe`, cancellable)).replace(/ \(deleted\)$/, '');
    if (PROXIES.includes(executable.split('/').pop()))
        return 'it is a bus proxy for sandboxed programs';
    return null;
}

function read(path, cancellable) {
    return new Promise((resolve, reject) => {
        Gio.File.new_for_path(path).load_contents_async(cancellable, (file, result) => {
            try {
                const [, bytes] = file.load_contents_finish(result);
                resolve(new TextDecoder().decode(bytes));
            } catch (error) {
                reject(error);
            }
        });
    });
}

async function exists(path, cancellable) {
    try {
        await query(path, 'standard::type', cancellable);
        return true;
    } catch (error) {
        if (error.matches?.(Gio.IOErrorEnum, Gio.IOErrorEnum.NOT_FOUND))
            return false;
        throw error;
    }
}

/** It fails if the link may not be read. */
async function link(path, cancellable) {
    const target = (await query(path, 'standard::symlink-target', cancellable)).get_symlink_target();
    if (!target)
        throw new Error(`${path} cannot be read`);
    return target;
}

function query(path, attributes, cancellable) {
    return new Promise((resolve, reject) => {
        const flags = Gio.FileQueryInfoFlags.NOFOLLOW_SYMLINKS;
        Gio.File.new_for_path(path).query_info_async(attributes, flags, GLib.PRIORITY_DEFAULT, cancellable,
            (file, result) => {
                try {
                    resolve(file.query_info_finish(result));
                } catch (error) {
                    reject(error);
                }
            });
    });
}

// What is in use now, as permd lists it: a group for each permission that an app uses, on whatever devices.

/** In the order of their importance to a person, which is that of the icons. */
const ORDER = ['camera', 'microphone', 'location', 'bluetooth'];
/** permd lists no more. */
const MOST = 1024;

export class Uses {
    constructor() {
        this._uses = new Map();
    }

    clear() {
        this._uses.clear();
    }

    started(use) {
        if (ORDER.includes(use.permission) && this._uses.size < MOST)
            this._uses.set(use.use, {...use});
    }

    ended(number) {
        this._uses.delete(number);
    }

    /** permd lists the statuses of the time when the uses began. */
    changed(app, permission, status) {
        for (const use of this._uses.values()) {
            if (use.app === app && use.permission === permission)
                use.status = status;
        }
    }

    /** Sorted by permission, then by the begin of the oldest use. */
    groups() {
        const groups = new Map();
        for (const use of [...this._uses.values()].sort((a, b) => a.since - b.since)) {
            const key = `${use.permission} ${use.app}`;
            const group = groups.get(key) ??
                {app: use.app, permission: use.permission, since: use.since, isCut: true};
            groups.set(key, group);
            group.name = use.app_name;
            group.status = use.status;
            // Otherwise the program holds the device itself, and a refusal does not end that.
            group.isCut &&= use.cut;
        }
        return [...groups.values()].sort((a, b) => ORDER.indexOf(a.permission) - ORDER.indexOf(b.permission));
    }
}

/** Whether a refusal would change anything, and whom it would be about. */
export function canBeStopped({app, status}) {
    return app !== '' && status !== 'denied' && status !== 'restricted';
}

# Functions of the steps about the gate. Sourced, not run, after guard.sh.
# shellcheck shell=bash

pid_of() { systemctl show "$1.service" --property=MainPID --value; }

# stands_before GATE NAME: whether the connection that owns the name is the gate's.
stands_before() {
    [ "$(pid_of "permd-gate-$1")" != 0 ] && says "^PID=$(pid_of "permd-gate-$1")$" busctl status "$2"
}

# registered GATE: whether the permd of owner has registered with it.
registered() {
    says "permd of user $(id -u owner) is" journalctl --boot --output=cat "_PID=$(pid_of "permd-gate-$1")"
}

adapter() { busctl get-property org.bluez "/org/bluez/$1" org.bluez.Adapter1 Address; }

# The kernel gives a new adapter two seconds to answer. On an emulated machine that may not be enough; then the adapters
# are added again.
plug_in() {
    systemd-run --quiet --collect --nice=-15 --unit=test-adapter btvirt -l2
    for _ in {1..20}; do
        if adapter hci1 >/dev/null 2>&1; then return 0; fi
        sleep 0.5
    done
    unplug
    return 1
}

unplug() { systemctl stop test-adapter.service; }

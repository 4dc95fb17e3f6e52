# Functions of the steps about the gate. Sourced, not run, after guard.sh.
# shellcheck shell=bash

pid_of() { systemctl show "$1.service" --property=MainPID --value; }

# stands_before GATE NAME: whether the connection that owns the name is the gate's.
stands_before() {
    [ "$(pid_of "permd-gate-$1")" != 0 ] && says "^PID=$(pid_of "permd-gate-$1")$" busctl status "$2"
}

# registered GATE [PERSON]: whether the permd of that person, owner by default, has registered with it.
registered() {
    says "permd of user $(id -u "${2:-owner}") is" journalctl --boot --output=cat "_PID=$(pid_of "permd-gate-$1")"
}

adapter() { busctl get-property org.bluez "/org/bluez/$1" org.bluez.Adapter1 Address; }

# The kernel gives a new adapter two seconds to answer. On an emulated machine that may not be enough; then the adapters
# are added again.
plug_in() {
    systemd-run --quiet --collect --nice=-15 --setenv=LD_PRELOAD=/test/programs/never-free.so --unit=test-adapter btvirt -l2
    for _ in {1..20}; do
        if adapter hci0 && adapter hci1; then return 0; fi >/dev/null 2>&1
        sleep 0.5
    done
    unplug
    return 1
}

unplug() { systemctl stop test-adapter.service; }

# plug_in_adapters: makes two adapters, of which each can be found by the other: bluetoothctl takes either.
plug_in_adapters() {
    local name property
    # What BlueZ knows of those of an earlier step, which had the same addresses.
    rm -rf /var/lib/bluetooth/00:AA:*
    plug_in || plug_in || plug_in || fail "BlueZ does not serve the adapters: $(adapter hci1 2>&1)"
    for property in Powered Discoverable; do
        for name in hci0 hci1; do
            busctl set-property org.bluez "/org/bluez/$name" org.bluez.Adapter1 $property b true
        done
    done
}

# shellcheck disable=SC2034 # For the steps.
where=/usr/libexec/geoclue-2.0/demos/where-am-i

# start_geoclue: starts GeoClue with a receiver that moves. permd is its agent.
start_geoclue() {
    /test/programs/nmea /run/test-nmea >"${work:?}/nmea.log" 2>&1 &
    await "the receiver" heard nmea '^ready'
    sed -i '/^nmea-socket=/d; /^\[network-nmea\]/a nmea-socket=/run/test-nmea' /etc/geoclue/geoclue.conf
    systemctl restart geoclue.service
}

# in_use: prints whether GeoClue has a client that was started.
in_use() {
    busctl get-property org.freedesktop.GeoClue2 /org/freedesktop/GeoClue2/Manager org.freedesktop.GeoClue2.Manager InUse
}

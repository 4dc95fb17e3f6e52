# Functions of the steps in the guest. Sourced, not run.
# shellcheck shell=bash

set -euo pipefail

apps=/opt/permd-test
work=$(mktemp -d /run/permd-step-XXXXXX)
chmod 755 "$work"
declare -A inputs=()

fail() {
    printf 'failed: %s\n' "$*" >&2
    exit 1
}

# await WHAT COMMAND…: waits up to 90 seconds until the command succeeds; an emulated machine is slow.
await() {
    local what=$1 end=$((SECONDS + 90))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || fail "waited 90 seconds for $what; last output: $("$@" 2>&1 | tail -n 5)"
        sleep 0.2
    done
}

# expect FAILURE COMMAND…: fails with that message unless the command succeeds.
expect() {
    local what=$1
    shift
    "$@" >"$work/expected" 2>&1 || fail "$what; output: $(cat "$work/expected")"
}

# refute FAILURE COMMAND…: fails with that message if the command succeeds.
refute() {
    local what=$1
    shift
    ! "$@" >"$work/expected" 2>&1 || fail "$what; output: $(cat "$work/expected")"
}

# find_card: has WirePlumber look for the sound card again, if it has left it off for half a minute: on a busy machine,
# 0.4.13 may get an empty list of the card's profiles.
card_off_since=
find_card() {
    says 'Active Profile: off' as owner pactl list cards >/dev/null || { card_off_since= && return; }
    : "${card_off_since:=$SECONDS}"
    [ $((SECONDS - card_off_since)) -ge 30 ] || return 0
    as owner systemctl --user restart wireplumber.service
    card_off_since=
}

# says PATTERN COMMAND…: succeeds if a line of the command's output matches. Prints the output.
says() {
    local pattern=$1 said
    shift
    said=$("$@" 2>&1) || true
    printf '%s\n' "$said"
    grep -Eq -- "$pattern" <<<"$said"
}

says_not() { ! says "$@"; }

# as PERSON COMMAND…: runs a command as that user, in the environment of the user's manager.
as() {
    enter_as "$1"
    shift
    "${enter[@]}" "$@"
}

enter_as() {
    local id
    id=$(id -u "$1")
    enter=(setpriv --reuid "$id" --regid "$id" --init-groups env --ignore-environment "--chdir=/home/$1" "HOME=/home/$1"
        "USER=$1" "LOGNAME=$1" LANG=C.UTF-8 "PATH=$apps:/usr/local/bin:/usr/bin:/bin" "XDG_RUNTIME_DIR=/run/user/$id"
        "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/$id/bus")
}

# The user's session on seat0.
session_of() { loginctl list-sessions --no-legend | awk -v person="$1" '$3 == person && $4 == "seat0" { print $1 }'; }
is_active() { [ "$(loginctl show-session "$(session_of "$1")" --property=Active --value)" = yes ]; }
is_logged_in() { [ -n "$(session_of "$1")" ]; }
serves() { says '^active$' as "$1" systemctl --user is-active permd.service; }
pid_of_permd() { as "$1" systemctl --user show permd.service --property=MainPID --value; }

# log_in PERSON TERMINAL: logs a user in and makes the session active.
log_in() {
    systemctl start "getty@tty$2.service"
    await "the session of $1" is_logged_in "$1"
    bring_to_front "$1"
    await "the permd of $1" serves "$1"
}

bring_to_front() {
    loginctl activate "$(session_of "$1")"
    await "the session of $1 to be active" is_active "$1"
}

# start_app PERSON NAME: starts a copy of the test app, with output in $work/NAME.log; `tell NAME WORD…` commands it.
start_app() {
    local person=$1 name=$2 input
    mkfifo "$work/$name"
    enter_as "$person"
    "${enter[@]}" "$apps/$name" <"$work/$name" >"$work/$name.log" 2>&1 &
    exec {input}>"$work/$name"
    inputs[$name]=$input
    await "$name to start" says '^ready' cat "$work/$name.log"
}

tell() {
    local input=${inputs[$1]}
    shift
    echo "$*" >&"$input"
}

# start_agent PERSON ANSWER…: starts an agent that gives these answers. Its prompts are in $work/agent-PERSON.log.
start_agent() {
    local person=$1
    shift
    enter_as "$person"
    "${enter[@]}" "$apps/permd-scripted-agent" "$@" >"$work/agent-$person.log" 2>&1 &
    await "the agent of $person" says '^ready' cat "$work/agent-$person.log"
}

# heard NAME PATTERN: succeeds if an app or agent has printed a line that matches.
heard() { says "$2" cat "$work/$1.log"; }

# in_sandbox PROGRAM ARGUMENT…: runs a program as a Flatpak of owner, in a control group with DevicePolicy=closed.
in_sandbox() {
    local program=$1
    shift
    mkdir -p "$work/sandbox"
    printf '[Application]\nname=org.example.Recorder\n' >"$work/sandbox/info"
    enter_as owner
    systemd-run --quiet --pipe --wait --collect --property=DevicePolicy=closed \
        unshare --mount /test/guest/as-flatpak "$work/sandbox" "${enter[@]}" "$apps/$program" "$@"
}

# usb_camera: prints the node of the camera on USB that gives images.
usb_camera() {
    local node
    for node in /sys/class/video4linux/*; do
        if grep -qs 'Test camera on USB' "$node/name" && [ "$(cat "$node/index")" = 0 ]; then
            echo "/dev/${node##*/}"
        fi
    done
}
has_no_usb_camera() { [ -z "$(usb_camera)" ]; }
has_usb_camera() { [ -n "$(usb_camera)" ]; }
may_use() { as owner test -w "$1"; }

# plug_in_camera: plugs a camera in on USB until the step ends. Sets $usb to the process that is the camera, and $camera
# to its node.
plug_in_camera() {
    modprobe vhci-hcd
    /test/programs/usb-camera >"$work/usb-camera.log" 2>&1 &
    usb=$!
    await "the camera on USB" has_usb_camera
    udevadm settle
    camera=$(usb_camera)
    await "the camera's rights" may_use "$camera"
}

unplug_camera() {
    kill "$usb"
    await "the camera to be gone" has_no_usb_camera
}

# Ends everything that the step started.
end_children() {
    local children
    children=$(jobs -p)
    # shellcheck disable=SC2086 # A list of process IDs.
    [ -z "$children" ] || kill $children 2>/dev/null || true
}
trap end_children EXIT

# Functions of the steps about the guard, with those of lib.sh. Sourced, not run.
# shellcheck shell=bash

# shellcheck source=Tests/vm/guest/lib.sh
. "${BASH_SOURCE%/*}/lib.sh"

# shellcheck disable=SC2034 # For the steps.
microphone=/dev/snd/pcmC0D1c
# shellcheck disable=SC2034 # For the steps.
ways=exe:$apps/ways-to-open
declare -A started=()

# begin NAME COMMAND…: starts a command of owner in the background, with its output in $work/NAME.log.
begin() {
    local name=$1
    shift
    enter_as owner
    # What a shell starts in the background ignores SIGINT.
    "${enter[@]}" env --default-signal=INT "$@" >"$work/$name.log" 2>&1 </dev/null &
    started[$name]=$!
}

# A command's words that give it lines of input, and a line for the commands that have these.
mkfifo -m 666 "$work/lines"
exec 9<>"$work/lines"
# shellcheck disable=SC2016,SC2034 # The shell's own variables; for the steps.
with_input=(sh -c 'exec "$@" <"$0"' "$work/lines")
next_line() { echo >&9; }

runs() { kill -0 "${started[$1]}"; }
has_ended() { ! runs "$1"; }

# ends NAME STATUS: waits until it has ended, and compares how.
ends() {
    local status=0
    await "$1 to end" has_ended "$1"
    wait "${started[$1]}" || status=$?
    [ "$status" = "$2" ] || fail "$1 ended with $status instead of $2: $(cat "$work/$1.log")"
}

# ends_denied NAME: waits until it has failed with the message of EACCES.
ends_denied() {
    await "$1 to end" has_ended "$1"
    ! wait "${started[$1]}" || fail "$1 was not refused: $(cat "$work/$1.log")"
    expect "$1 did not fail with EACCES" heard "$1" 'Permission denied|EACCES|errno 13'
}

# prompted NUMBER PATTERN: waits for that prompt of owner's agent.
prompted() { await "prompt $1" heard agent-owner "^prompt $1: $2"; }
# not_prompted NUMBER: fails if the agent has got that prompt.
not_prompted() { refute "there was a prompt $1" heard agent-owner "^prompt $1:"; }
end_agent() { pkill -U owner -x permd-scripted- || true; }

# app_of_script NAME: prints the app of one of the test programs in Python.
app_of_script() { echo "exe:$(readlink -f /usr/bin/python3):$apps/$1"; }

record() { echo arecord -q -D hw:0,1 -d "$1" -f S16_LE -r 48000 -c 2; }

# stream NODE COUNT FILE: the words of a command that captures that many images into a file; 0 goes on for ever.
stream() { echo v4l2-ctl -d "$1" --stream-mmap=2 --stream-count="$2" --stream-to="$3"; }

pid_of_guard() { systemctl show permd-guard.service --property=MainPID --value; }
guards() { says '^active$' systemctl is-active permd-guard.service; }
another_guards() { guards && [ "$(pid_of_guard)" != "$1" ]; }
# registered: whether the guard knows owner's permd, and permd the guard.
registered() { says '^ok +guard' as owner permctl doctor; }
# restart_guard [LINE…]: restarts the guard with these settings of its unit, or with none but its own.
restart_guard() {
    local settings=/run/systemd/system/permd-guard.service.d/test.conf
    rm -f "$settings"
    if [ $# -gt 0 ]; then
        mkdir -p "${settings%/*}"
        printf '%s\n' '[Service]' "$@" >"$settings"
    fi
    systemctl daemon-reload
    systemctl restart permd-guard.service
}
is_granted() { says '^microphone +granted' as owner permctl status "$1" --no-legend; }
forget() { as owner permctl reset "$1" || true; }

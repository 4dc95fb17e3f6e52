# What the demos in the guest share. Sourced, not run, after guard.sh.
# shellcheck shell=bash

say() { printf '\n== %s\n' "$*"; }
has_prompt() { says "${1##*/}" as owner permctl queue --no-legend; }
has_answer() { says "^$2 +(granted|denied)" as owner permctl status "$1" --no-legend; }

# is_over NAME APP PERMISSION: whether nothing is left to answer about a program that was begun.
is_over() { has_answer "$2" "$3" || ! runs "$1" || ! has_prompt "$2"; }

# answer HOW NAME APP PERMISSION: shows what waits, and waits for the answer: a scripted agent's if HOW is --answer.
answer() {
    local how=$1
    shift
    await "its prompt" has_prompt "$2"
    as owner permctl queue
    if [ "$how" = --answer ]; then
        say "A scripted agent answers"
        start_agent owner always
        await "the answer" has_answer "$2" "$3"
        cat "${work:?}/agent-owner.log"
        end_agent
    else
        say "Answer here"
        { until is_over "$@"; do sleep 0.2; done && pkill -U owner -x permctl; } >/dev/null 2>&1 &
        as owner permctl agent || true
    fi
}

# Runs a check as parts that do not end it, and tells at its end how long each took. Sourced after lib.sh, not run.
# shellcheck shell=bash

# Lines of the table: result, seconds and name of each part.
parts=()
failed_parts=()
last_line=
# How the test runner, the guests' steps, the compilers and scripts/faults begin what they say of a failure. A step goes on
# indented behind the guest's release.
failures='✘|(^| )FAIL|[Ff]ailed: |error: |^[a-z]+ {8}'
# Lines; enough for all steps or tests that one mistake breaks.
told_failures=30
declare -A beside_pid=() beside_start=()
part_logs=$(mktemp -d "${TMPDIR:-/tmp}/permd-parts-XXXXXX")
trap end_parts EXIT
check_start=$SECONDS

end_parts() {
    local pid
    for pid in "${beside_pid[@]}"; do kill -- "-$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$part_logs"
}

# log_of NAME: prints the path of a part's output. A name may have slashes.
log_of() { echo "$part_logs/${1//\//-}"; }

# note_part NAME SECONDS STATUS
note_part() {
    local result=passed
    [ "$3" -eq 0 ] || { result=FAILED && failed_parts+=("$1"); }
    parts+=("$(printf '%-6s %5d s  %s' "$result" "$2" "$1")")
}

# part NAME COMMAND…: runs a part.
part() { logged_part cat "$@"; }

# runner_part NAME COMMAND…: runs a part, and prints its output but for the last line, which is for the check's end.
runner_part() {
    logged_part "sed \$d" "$@"
    last_line=$(tail -n 1 "$(log_of "$1")")
}

# logged_part FILTER NAME COMMAND…
logged_part() {
    local filter=$1 name=$2 start=$SECONDS status=0
    shift 2
    say "$name"
    "$@" 2>&1 | tee "$(log_of "$name")" | $filter || status=$?
    note_part "$name" $((SECONDS - start)) $status
}

# needed NAME COMMAND…: runs a part without which the others are useless.
needed() {
    part "$@"
    [ ${#failed_parts[@]} -eq 0 ] || finish_parts
}

# beside NAME COMMAND…: starts a part in the background.
beside() {
    local name=$1
    shift
    beside_start[$name]=$SECONDS
    # With job control, it has a process group of its own, which ends with the check.
    set -m
    (
        status=0
        "$@" || status=$?
        echo "$SECONDS" >"$(log_of "$name").end"
        exit $status
    ) >"$(log_of "$name")" 2>&1 </dev/null &
    beside_pid[$name]=$!
    set +m
}

# joined NAME: waits for a part in the background and prints its output. The time is its own, without the waiting.
joined() {
    local name=$1 status=0 end
    wait "${beside_pid[$name]}" || status=$?
    unset "beside_pid[$name]"
    say "$name"
    cat "$(log_of "$name")"
    end=$(cat "$(log_of "$name").end" 2>/dev/null || echo "$SECONDS")
    note_part "$name" $((end - beside_start[$name])) $status
}

# finish_parts: prints what failed, the table, and as the last line that of runner_part; fails if a part failed.
finish_parts() {
    local name log
    # Here again, since of a long output, many keep the end only.
    for name in "${failed_parts[@]}"; do
        say "What failed in: $name"
        log=$(log_of "$name")
        grep -aE "$failures" "$log" | tail -n $told_failures || tail -n $told_failures "$log"
    done
    say "The parts, in $((SECONDS - check_start)) s"
    printf '%s\n' "${parts[@]}"
    [ ${#failed_parts[@]} -eq 0 ] || fail "${#failed_parts[@]} of ${#parts[@]} parts failed"
    [ -z "$last_line" ] || printf '%s\n' "$last_line"
    exit 0
}

# Runs a check as parts that do not end it, and tells at its end how long each took. Sourced after lib.sh, not run.
# shellcheck shell=bash

# Lines of the table: result, seconds and name of each part.
parts=()
failed=0
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

# note_part NAME SECONDS STATUS
note_part() {
    local result=passed
    [ "$3" -eq 0 ] || { result=FAILED && failed=$((failed + 1)); }
    parts+=("$(printf '%-6s %5d s  %s' "$result" "$2" "$1")")
}

# part NAME COMMAND…: runs a part.
part() {
    local name=$1 start=$SECONDS status=0
    shift
    say "$name"
    "$@" || status=$?
    note_part "$name" $((SECONDS - start)) $status
}

# needed NAME COMMAND…: runs a part without which the others are useless.
needed() {
    part "$@"
    [ $failed -eq 0 ] || finish_parts ""
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
        echo "$SECONDS" >"$part_logs/$name.end"
        exit $status
    ) >"$part_logs/$name" 2>&1 </dev/null &
    beside_pid[$name]=$!
    set +m
}

# joined NAME: waits for a part in the background and prints its output. The time is its own, without the waiting.
joined() {
    local name=$1 status=0 end
    wait "${beside_pid[$name]}" || status=$?
    unset "beside_pid[$name]"
    say "$name"
    cat "$part_logs/$name"
    end=$(cat "$part_logs/$name.end" 2>/dev/null || echo "$SECONDS")
    note_part "$name" $((end - beside_start[$name])) $status
}

# finish_parts LINE: prints the table, and as the last line LINE, unless it is empty; fails if a part did.
finish_parts() {
    say "The parts, in $((SECONDS - check_start)) s"
    printf '%s\n' "${parts[@]}"
    [ $failed -eq 0 ] || fail "$failed of ${#parts[@]} parts failed"
    [ -z "$1" ] || printf '%s\n' "$1"
    exit 0
}

# keep_last_line COMMAND…: runs it and prints its output but for the last line, which it puts into last_line.
keep_last_line() {
    local status=0
    "$@" 2>&1 | tee "$part_logs/output" | sed '$d' || status=$?
    # Read by those that source this.
    # shellcheck disable=SC2034
    last_line=$(tail -n 1 "$part_logs/output")
    return $status
}

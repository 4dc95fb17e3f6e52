# Functions and package lists shared by the scripts. Sourced, not run. Sets ROOT and changes to that folder.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit

# The releases of Debian that permd is tested on, the oldest first.
DEBIAN_SUITES="bookworm trixie forky sid"

# Whether the system is Debian 13 or newer, which has gtk4-layer-shell and the desktops of Tests/DesktopTests.
has_desktops() { (. /etc/os-release && [ "$ID" = debian ] && [ "${VERSION_ID:-99}" -ge 13 ]); }

# suites_from_host: prints the release of Debian that this is, and those after it: packages can be installed on newer ones.
suites_from_host() {
    (. /etc/os-release && tr ' ' '\n' <<<"$DEBIAN_SUITES" | sed -n "/^$VERSION_CODENAME\$/,\$p")
}

# has_terminal: whether somebody can answer prompts in a terminal; says so if not.
has_terminal() {
    if [ -t 0 ] && { : </dev/tty; } 2>/dev/null; then return; fi
    echo "There is no terminal to answer in, so a scripted agent answers."
    return 1
}

# Whether the headers of gtk4-layer-shell are installed.
has_layer_shell() { pkg-config --exists gtk4-layer-shell-0; }

# The packages for building and running, and those only for tests and the demo.
BUILD_PACKAGES="libdbus-1-dev libsystemd-dev libsqlite3-dev pkg-config binutils"
WINDOW_PACKAGES="libadwaita-1-dev gettext"
if has_desktops; then WINDOW_PACKAGES="$WINDOW_PACKAGES libgtk4-layer-shell-dev"; fi
PIPEWIRE_PACKAGES="libpipewire-0.3-dev"
GUARD_PACKAGES="libbpf-dev"
# A whole sound server, for its tests and the demo, and programs that record.
SOUND_PACKAGES="$PIPEWIRE_PACKAGES pipewire pipewire-bin pipewire-pulse wireplumber pulseaudio-utils"
RECORDER_PACKAGES="alsa-utils pipewire-alsa gstreamer1.0-pipewire gstreamer1.0-tools"
DEMO_PACKAGES="$BUILD_PACKAGES dbus libumockdev-dev umockdev"
SCREEN_PACKAGES="xvfb openbox xdotool at-spi2-core gir1.2-atspi-2.0 python3-gi fonts-dejavu-core adwaita-icon-theme"
SCREEN_PACKAGES="$SCREEN_PACKAGES xdg-desktop-portal librsvg2-common weston locales x11-utils"
# What the examples that are a browser need.
SCREEN_PACKAGES="$SCREEN_PACKAGES libwebkit2gtk-4.1-dev gir1.2-webkit2-4.1 gcc"
TEST_PACKAGES="$DEMO_PACKAGES $WINDOW_PACKAGES $GUARD_PACKAGES $SCREEN_PACKAGES dbus-broker python3 python3-dbus gjs tmux util-linux procps"
TEST_PACKAGES="$TEST_PACKAGES $SOUND_PACKAGES $RECORDER_PACKAGES systemd dbus-user-session shellcheck man-db mandoc bubblewrap xdg-dbus-proxy zsh fish"
# The desktops of Tests/DesktopTests, as Debian 13 has them.
# shellcheck disable=SC2034 # For scripts/test.
DESKTOP_PACKAGES="gnome-shell sway grim wtype kwin-wayland kwin-x11 xfwm4 imagemagick gir1.2-gtk-4.0"
DESKTOP_PACKAGES="$DESKTOP_PACKAGES xserver-xorg-core xserver-xorg-video-dummy x11-xserver-utils waybar xfce4-panel"
# shellcheck disable=SC2034 # For scripts/package.
PACKAGE_PACKAGES="$BUILD_PACKAGES $WINDOW_PACKAGES $PIPEWIRE_PACKAGES $GUARD_PACKAGES libumockdev-dev build-essential debhelper fakeroot lintian python3"
# For Tests/vm: the emulator, and the tools that make the guest's image and kernel.
# shellcheck disable=SC2034 # For Tests/vm/run.
VM_PACKAGES="qemu-system-x86 mmdebstrap e2fsprogs cpio kmod gcc libc6-dev linux-libc-dev make xz-utils zstd"

say() { printf '\n== %s\n' "$*"; }
fail() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# Installs the Debian packages that are missing, and prints which. The arguments are packages or lists of packages.
install_missing() {
    local wanted missing=() package
    read -ra wanted <<<"$*"
    for package in "${wanted[@]}"; do
        [ "$(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null)" = "ii " ] || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return
    command -v apt-get >/dev/null || fail "apt-get is not available; install these packages: ${missing[*]}"
    local sudo=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "packages are missing; run as root: apt-get install ${missing[*]}"
        sudo=sudo
    fi
    say "Installing ${missing[*]}"
    # What else installs packages on this machine is waited for, in seconds.
    local install=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=600
        install -qq -y --no-install-recommends)
    {
        # Parts of a check that run beside each other take turns: apt waits for no other program that reads lists. What
        # a package starts gets no descriptor, so it does not keep the lock.
        flock 9
        # The first attempt may fail because the package lists are missing or old; errors of the second are shown.
        if ! $sudo "${install[@]}" "${missing[@]}" >/dev/null 2>&1 9<&-; then
            $sudo apt-get update -qq 9<&-
            $sudo "${install[@]}" "${missing[@]}" >/dev/null 9<&-
        fi
    } 9<"$ROOT/scripts/lib.sh"
}

# compile_texts FOLDER: compiles the translations to FOLDER/LANGUAGE/LC_MESSAGES/permd.mo.
compile_texts() {
    local catalog language
    for catalog in po/*.po; do
        language=$(basename "$catalog" .po)
        mkdir -p "$1/$language/LC_MESSAGES"
        msgfmt --check-format -o "$1/$language/LC_MESSAGES/permd.mo" "$catalog"
    done
}

# Prints the nearest existing parent folder of $1, or $1 itself.
nearest() {
    local folder=$1
    while [ -n "$folder" ] && [ ! -e "$folder" ]; do folder=${folder%/*}; done
    echo "${folder:-/}"
}

# Removes the files, links and folders in the list $2, under $1; folders only if they are empty.
remove_listed() {
    local files folders path
    files=$(sed -nE 's/^(file|link) //p' "$2")
    folders=$(sed -n 's/^folder //p' "$2" | sort -r)
    while read -r path; do if [ -n "$path" ]; then rm -f "$1$path"; fi; done <<<"$files"
    # The deepest folders come first.
    while read -r path; do
        if [ -n "$path" ] && [ -d "$1$path" ]; then rmdir --ignore-fail-on-non-empty "$1$path"; fi
    done <<<"$folders"
}

permd_version() { sed -n 's/.* version = "\(.*\)"/\1/p' Sources/System/ProgramOptions.swift; }

need_swift() {
    command -v swift >/dev/null || fail "Swift 6.1 or newer is needed: https://www.swift.org/install/linux/"
    local version
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
    [ "$(printf '6.1\n%s\n' "$version" | sort -V | head -n 1)" = 6.1 ] ||
        fail "Swift $version is too old; 6.1 or newer is needed"
    local missing
    missing=$(ldd "$(dirname "$(readlink -f "$(command -v swift)")")/swift-package" 2>/dev/null |
        sed -n 's/^\s*\(.*\) => not found$/\1/p' | sort -u | paste -sd' ')
    [ -z "$missing" ] || fail "Swift cannot run without $missing: see docs/installing.md, \"Swift\""
    # SwiftPM caches the evaluated Package.swift until the environment changes: libadwaita, PipeWire, gtk4-layer-shell
    # or libbpf may have been installed since then.
    PERMD_ADWAITA=$(pkg-config --modversion libadwaita-1 2>/dev/null || echo none)
    PERMD_PIPEWIRE=$(pkg-config --modversion libpipewire-0.3 2>/dev/null || echo none)
    PERMD_LAYER_SHELL=$(pkg-config --modversion gtk4-layer-shell-0 2>/dev/null || echo none)
    PERMD_BPF=$(pkg-config --modversion libbpf 2>/dev/null || echo none)
    export PERMD_ADWAITA PERMD_PIPEWIRE PERMD_LAYER_SHELL PERMD_BPF
}

# Some later steps require root: if sudo needs a password, it asks for it now and not in between.
need_root() {
    [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null || sudo -v ||
        fail "root or sudo is needed to make sandboxes, namespaces and control groups"
}

# private_session NAME: starts a session bus with a home, a state and a runtime folder of its own, below $home. All of it,
# and the processes in `pids`, end with the script.
private_session() {
    home=$(mktemp -d "${TMPDIR:-/tmp}/permd-$1-XXXXXX")
    mkdir -p "$home"/{home,state,config,runtime,apps}
    chmod 700 "$home/runtime"
    pids=()
    trap end_session EXIT
    # The name of a Wayland display is relative to the XDG_RUNTIME_DIR of the session.
    case "${WAYLAND_DISPLAY:-}" in "" | /*) ;; *) export WAYLAND_DISPLAY=${XDG_RUNTIME_DIR:-}/$WAYLAND_DISPLAY ;; esac
    export XAUTHORITY=${XAUTHORITY:-$HOME/.Xauthority}
    export HOME=$home/home XDG_STATE_HOME=$home/state XDG_CONFIG_HOME=$home/config XDG_RUNTIME_DIR=$home/runtime
    dbus-daemon --session --nofork --print-address=1 >"$home/address" 2>/dev/null &
    pids+=($!)
    until [ -s "$home/address" ]; do sleep 0.05; done
    DBUS_SESSION_BUS_ADDRESS=$(head -n 1 "$home/address")
    export DBUS_SESSION_BUS_ADDRESS
}

end_session() {
    local pid
    for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
    wait 2>/dev/null || true
    rm -rf "$home"
}

# start_permd FOLDER [NAME=VALUE…]: starts the permd in that folder with these variables, and waits until it serves.
start_permd() {
    local bin=$1
    shift
    env "$@" "$bin/permd" --root "$home" 2>"$home/log" &
    permd=$!
    pids+=("$permd")
    until grep -qs "serves org.permd" "$home/log"; do
        kill -0 "$permd" 2>/dev/null || { cat "$home/log" >&2; fail "permd did not start"; }
        sleep 0.05
    done
}

# start_pipewire FOLDER: starts a private PipeWire with its session manager, its PulseAudio server, a test tone as
# microphone and a speaker that nobody hears, and the permd-pipewire in that folder. Waits until that is ready.
start_pipewire() {
    local bin=$1
    scripts/test-sound/configure
    start_server pipewire
    until_there pipewire [ -S "$XDG_RUNTIME_DIR/pipewire-0" ]
    start_server wireplumber
    until_there wireplumber wpctl inspect @DEFAULT_AUDIO_SOURCE@ >"$home/default-source"
    until_there wireplumber scripts/test-sound/drive
    start_server pipewire-pulse
    until_there pipewire-pulse [ -S "$XDG_RUNTIME_DIR/pulse/native" ]
    start_server "$bin/permd-pipewire"
    until_there permd-pipewire grep -q ready "$home/permd-pipewire.log"
}

# start_server PROGRAM: starts it in the background, with a log in $home.
start_server() {
    "$1" >"$home/${1##*/}.log" 2>&1 &
    pids+=($!)
}

# until_there NAME CONDITION…: waits for what the program that was started last provides.
until_there() {
    local name=$1
    shift
    until "$@" 2>/dev/null; do
        kill -0 "${pids[-1]}" 2>/dev/null || { cat "$home/$name.log" >&2; fail "$name did not start"; }
        sleep 0.05
    done
}

# Makes a debug build of everything, including the tests. Warnings are errors, except in the sources of libraries.
build_tests() {
    local log
    log=$(mktemp)
    swift build --build-tests 2>&1 | tee "$log" || { rm -f "$log"; return 1; }
    # Compares ROOT as a string: it may contain characters that are special in regular expressions.
    if ROOT=$ROOT awk '
        index($0, ENVIRON["ROOT"] "/") == 1 {
            if (substr($0, length(ENVIRON["ROOT"]) + 2) ~ /^(Sources|Tests|Tools|Examples)\/.*: warning:/) { print; found = 1 }
        }
        END { exit !found }' "$log"; then
        rm -f "$log"
        fail "the build has warnings"
    fi
    rm -f "$log"
}

# run_desktop_tests COMMAND…: runs the tests on desktops, with the runner and its arguments. As all tests, none may be
# skipped, and the last line is the runner's.
run_desktop_tests() {
    say "Testing on desktops, one after the other, since they watch how fast a person types and clicks"
    local more=()
    [[ $(gnome-shell --help) == *--x11* ]] || more=(--skip GnomeX11Tests)
    unskipped "$@" --no-parallel --filter DesktopTests "${more[@]}"
}

# run_other_tests COMMAND…: runs the tests that need no desktop, with the runner and its arguments.
run_other_tests() {
    say "Testing"
    # Without a limit all tests start at once, and what they wait for is late. More than ten take as long on two
    # processors.
    SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=10 unskipped "$@" --skip DesktopTests
}

# unskipped COMMAND…: runs tests, and fails if some are skipped.
unskipped() {
    local log status=0
    log=$(mktemp)
    # Colors would hide what is looked for.
    NO_COLOR=1 "$@" 2>&1 | tee "$log" || status=$?
    if grep -E "➜ Test .* skipped" "$log"; then
        rm -f "$log"
        fail "tests were skipped"
    fi
    rm -f "$log"
    return $status
}

# swift_toolchain: prints the folder of the toolchain that contains bin, lib and share.
swift_toolchain() {
    swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)\/lib\/swift".*/\1/p'
}

# compile_bpf FOLDER: compiles the guard's programs for the kernel to FOLDER/guard.bpf.o, with the compiler of the Swift
# toolchain.
compile_bpf() {
    local bin
    bin=$(swift_toolchain)/bin
    mkdir -p "$1"
    "$bin/clang" -target bpf -mcpu=v3 -O2 -g -Wall -Werror "-I/usr/include/$(uname -m)-linux-gnu" \
        -c bpf/guard.bpf.c -o "$1/guard.bpf.o"
    # The types, from which libbpf learns where a kernel has what, remain.
    "$bin/llvm-objcopy" --strip-debug "$1/guard.bpf.o"
}

# release_build --all | [--tools] PRODUCT…: builds all products or these for release and prints their folder. They are optimised for size,
# which takes no more time per call, without unused functions. They load the Swift library from ../lib/permd, which
# put_programs fills. Tools, which tests copy elsewhere, load it from the toolchain or an installed permd.
release_build() {
    local toolchain options product rpath
    options=(-c release --scratch-path .build-release --disable-local-rpath -Xswiftc -no-toolchain-stdlib-rpath)
    # A section for each function, so that the linker can leave out unused ones.
    options+=(-Xswiftc -Osize -Xswiftc -Xfrontend -Xswiftc -function-sections)
    options+=(-Xlinker --gc-sections -Xlinker --no-export-dynamic)
    # The table of functions of other libraries is filled at the start and cannot be changed later.
    options+=(-Xlinker -z -Xlinker now)
    toolchain=$(swift_toolchain)
    if [ -x "$toolchain/bin/ld.lld" ]; then
        # Packed relocations take a thirtieth of the space (DT_RELR, glibc 2.36).
        options+=(-Xswiftc -use-ld=lld -Xlinker -z -Xlinker pack-relative-relocs)
    fi
    # shellcheck disable=SC2016 # The dynamic linker's own variable.
    rpath='$ORIGIN/../lib/permd'
    if [ "$1" = --tools ]; then
        rpath=$toolchain/lib/swift/linux:/usr/lib/permd
        shift
    fi
    options+=(-Xlinker -rpath -Xlinker "$rpath")
    if [ "$1" = --all ]; then
        swift build "${options[@]}" >&2 || return
        shift
    fi
    for product; do swift build "${options[@]}" --product "$product" >&2 || return; done
    swift build "${options[@]}" --show-bin-path
}

# put_programs FOLDER TARGET PRODUCT…: puts programs of a release build, stripped, into TARGET/bin, and the libraries of
# the Swift toolchain that they need into TARGET/lib/permd.
put_programs() {
    local folder=$1 target=$2 product library runtime
    shift 2
    runtime=$(swift_toolchain)/lib/swift/linux
    rm -rf "$target/lib/permd"
    mkdir -p "$target/bin" "$target/lib/permd"
    for product; do
        # Replace the file: a running program cannot be overwritten.
        strip -o "$target/bin/$product.new" "$folder/$product"
        mv "$target/bin/$product.new" "$target/bin/$product"
    done
    while read -r library; do
        strip -o "$target/lib/permd/${library##*/}" "$library"
    done < <(LD_LIBRARY_PATH=$runtime ldd "${@/#/$folder/}" | sed -n "s|.* => \($runtime/[^ ]*\) .*|\1|p" | sort -u)
}

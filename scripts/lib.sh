# What the scripts share: sourced, not run. Sets ROOT and moves there.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT" || exit

# What building and running needs, and what only tests and the demo need.
BUILD_PACKAGES="libdbus-1-dev libsystemd-dev libsqlite3-dev libinih-dev pkg-config binutils"
WINDOW_PACKAGES="libgtk-4-dev gettext"
DEMO_PACKAGES="$BUILD_PACKAGES dbus libumockdev-dev umockdev"
SCREEN_PACKAGES="xvfb openbox xdotool at-spi2-core gir1.2-atspi-2.0 python3-gi fonts-dejavu-core adwaita-icon-theme"
SCREEN_PACKAGES="$SCREEN_PACKAGES xdg-desktop-portal-gtk libatk-adaptor librsvg2-common weston locales"
TEST_PACKAGES="$DEMO_PACKAGES $WINDOW_PACKAGES $SCREEN_PACKAGES dbus-broker python3 python3-dbus tmux util-linux procps"
TEST_PACKAGES="$TEST_PACKAGES systemd dbus-user-session shellcheck man-db mandoc bubblewrap xdg-dbus-proxy"
# shellcheck disable=SC2034 # For scripts/package.
PACKAGE_PACKAGES="$BUILD_PACKAGES $WINDOW_PACKAGES dpkg-dev debhelper fakeroot lintian"
# For Tests/vm: an emulated machine, what makes its image, and Debian's kernel taken apart.
# shellcheck disable=SC2034 # For Tests/vm/run.
VM_PACKAGES="qemu-system-x86 mmdebstrap e2fsprogs cpio kmod gcc libc6-dev linux-libc-dev make xz-utils zstd"

say() { printf '\n== %s\n' "$*"; }
fail() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# Installs the Debian packages that are missing, and says which. Its words are packages, or lists of them.
install_missing() {
    local wanted missing=() package
    read -ra wanted <<<"$*"
    for package in "${wanted[@]}"; do
        [ "$(dpkg-query -W -f='${db:Status-Abbrev}' "$package" 2>/dev/null)" = "ii " ] || missing+=("$package")
    done
    [ ${#missing[@]} -eq 0 ] && return
    command -v apt-get >/dev/null || fail "please install: ${missing[*]}"
    local sudo=
    if [ "$(id -u)" -ne 0 ]; then
        command -v sudo >/dev/null || fail "please install as root: apt-get install ${missing[*]}"
        sudo=sudo
    fi
    say "Installing ${missing[*]}"
    local install=(env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends)
    # The first time the lists may be missing or old; what is wrong the second time is told.
    if ! $sudo "${install[@]}" "${missing[@]}" >/dev/null 2>&1; then
        $sudo apt-get update -qq
        $sudo "${install[@]}" "${missing[@]}" >/dev/null
    fi
}

# permd-agent's texts in other languages, as $1/LANGUAGE/LC_MESSAGES/permd.mo.
compile_texts() {
    local catalog language
    for catalog in po/*.po; do
        language=$(basename "$catalog" .po)
        mkdir -p "$1/$language/LC_MESSAGES"
        msgfmt -o "$1/$language/LC_MESSAGES/permd.mo" "$catalog"
    done
}

# The nearest folder that is there, on the way to $1.
nearest() {
    local folder=$1
    while [ -n "$folder" ] && [ ! -e "$folder" ]; do folder=${folder%/*}; done
    echo "${folder:-/}"
}

# Removes the files, links and folders that the list $2 names, under $1; a folder only if nothing else is in it.
remove_listed() {
    local files folders path
    files=$(sed -nE 's/^(file|link) //p' "$2")
    folders=$(sed -n 's/^folder //p' "$2" | sort -r)
    while read -r path; do if [ -n "$path" ]; then rm -f "$1$path"; fi; done <<<"$files"
    # The deepest first.
    while read -r path; do
        if [ -n "$path" ] && [ -d "$1$path" ]; then rmdir --ignore-fail-on-non-empty "$1$path"; fi
    done <<<"$folders"
}

need_swift() {
    command -v swift >/dev/null || fail "Swift 6.1 or newer is needed: https://www.swift.org/install/linux/"
    local version
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
    [ "$(printf '6.1\n%s\n' "$version" | sort -V | head -n 1)" = 6.1 ] || fail "Swift $version is too old; 6.1 is needed"
    # SwiftPM remembers what Package.swift came to, as long as the environment is the same: GTK may be new since then.
    PERMD_GTK=$(pkg-config --modversion gtk4 2>/dev/null || echo none)
    export PERMD_GTK
}

# Some of what follows takes root: an ordinary user is asked for the password now, if sudo wants one, and not in between.
need_root() {
    [ "$(id -u)" -eq 0 ] || sudo -n true 2>/dev/null || sudo -v ||
        fail "sandboxes, namespaces and control groups are made, which takes root, or sudo"
}

# Builds everything for debugging, tests too. A warning is an error, in our own sources: a library's are not ours to mend.
build_tests() {
    local log
    log=$(mktemp)
    swift build --build-tests 2>&1 | tee "$log" || { rm -f "$log"; return 1; }
    # A path may have characters that a regular expression has, too.
    if ROOT=$ROOT awk '
        index($0, ENVIRON["ROOT"] "/") == 1 {
            if (substr($0, length(ENVIRON["ROOT"]) + 2) ~ /^(Sources|Tests|Tools|Examples)\/.*: warning:/) { print; found = 1 }
        }
        END { exit !found }' "$log"; then
        rm -f "$log"
        fail "there are warnings"
    fi
    rm -f "$log"
}

# Programs as they are shipped: optimised, the Swift library inside, nothing in them that nobody calls.
#   release_build PRODUCT…   builds them, and says where they are.
release_build() {
    local toolchain options product static=.build-release/static
    options=(-c release --static-swift-stdlib --scratch-path .build-release --disable-local-rpath)
    # Each function for itself, so that the linker may leave it out.
    options+=(-Xswiftc -Xfrontend -Xswiftc -function-sections -Xlinker --no-export-dynamic)
    toolchain=$(swiftc -print-target-info | sed -n 's/.*"runtimeResourcePath": "\(.*\)\/lib\/swift".*/\1/p')
    if [ -x "$toolchain/bin/ld.lld" ]; then
        # Relocations in a thirtieth of the space (DT_RELR, glibc 2.36).
        options+=(-Xswiftc -use-ld=lld -Xlinker -z -Xlinker pack-relative-relocs)
    fi
    # The few functions of the C++ library that Swift's calls, instead of all of it.
    mkdir -p "$static"
    ln -sf "$("$toolchain/bin/clang" -print-file-name=libstdc++.a)" "$static/libstdc++.a"
    if [ -e "$static/libstdc++.a" ]; then options+=(-Xlinker "-L$ROOT/$static"); fi
    for product; do swift build "${options[@]}" --product "$product" >&2 || return; done
    swift build "${options[@]}" --show-bin-path
}

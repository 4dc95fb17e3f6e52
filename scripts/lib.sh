# What the scripts share: sourced, not run. Sets ROOT and moves there.

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$ROOT"

# What building and running needs, and what only tests and the demo need.
BUILD_PACKAGES="libdbus-1-dev libsystemd-dev libsqlite3-dev libinih-dev pkg-config binutils"
WINDOW_PACKAGES="libgtk-4-dev gettext"
DEMO_PACKAGES="$BUILD_PACKAGES dbus libumockdev-dev umockdev"
SCREEN_PACKAGES="xvfb openbox xdotool at-spi2-core gir1.2-atspi-2.0 python3-gi fonts-dejavu-core adwaita-icon-theme"
SCREEN_PACKAGES="$SCREEN_PACKAGES xdg-desktop-portal-gtk libatk-adaptor weston"
TEST_PACKAGES="$DEMO_PACKAGES $WINDOW_PACKAGES $SCREEN_PACKAGES dbus-broker python3 python3-dbus tmux util-linux procps"

say() { printf '\n== %s\n' "$*"; }
fail() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# Installs the Debian packages that are missing, and says which.
install_missing() {
    local missing=() package
    for package in "$@"; do
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
    if ! $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" >/dev/null
    then
        # The lists may be missing or old.
        $sudo apt-get update -q >/dev/null
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" >/dev/null
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

need_swift() {
    command -v swift >/dev/null || fail "Swift 6.1 or newer is needed: https://www.swift.org/install/linux/"
    local version
    version=$(swift --version 2>/dev/null | sed -n 's/.*Swift version \([0-9]*\.[0-9]*\).*/\1/p' | head -n 1)
    [ "$(printf '6.1\n%s\n' "$version" | sort -V | head -n 1)" = 6.1 ] || fail "Swift $version is too old; 6.1 is needed"
    # SwiftPM remembers what Package.swift came to, as long as the environment is the same: GTK may be new since then.
    PERMD_GTK=$(pkg-config --modversion gtk4 2>/dev/null || echo none)
    export PERMD_GTK
}

# What Tests/vm/run and scripts/demo share: images of guests, and the packages and programs that the guests get. Sourced,
# not run, after scripts/lib.sh.
# shellcheck shell=bash

vm=$ROOT/Tests/vm
shared=$ROOT/.build-vm
cache=${XDG_CACHE_HOME:-$HOME/.cache}/permd-vm

as_root() { if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo "$@"; fi; }

host_suite() { (. /etc/os-release && echo "$VERSION_CODENAME"); }

# image_of SUITE: prints the folder of the guest's image. Its name has a hash of everything the image depends on: its
# files, Debian's current kernel, and the host's release.
image_of() {
    local configuration hash
    configuration=$("$vm/image/suite" "$1" "$cache/apt-$1") || return
    hash=$({
        cat /etc/os-release
        APT_CONFIG=$configuration "$vm/image/kernel-package"
        find "$vm/image" -type f | sort | while read -r file; do echo "$file" && cat "$file"; done
    } | sed "s|$ROOT||" | sha256sum | cut -c1-16)
    echo "$cache/$1-$hash"
}

# build_image SUITE FOLDER: builds the image unless it is there.
build_image() {
    local image=$2
    if [ -d "$image" ]; then
        touch "$image"
        return
    fi
    as_root rm -rf "$image.new"
    mkdir -p "$image.new"
    as_root env "APT_CONFIG=$cache/apt-$1/apt.conf" "$vm/image/build" "$1" "$image.new" >"$cache/build-$1.log" 2>&1 || {
        cat "$cache/build-$1.log" >&2
        return 1
    }
    mv "$image.new" "$image"
    # Remove images that were not used for two weeks.
    find "$cache" -mindepth 1 -maxdepth 1 -type d -mtime +14 -exec rm -rf {} +
}

# build_programs FOLDER: builds the packages and the programs that the guests need.
build_programs() {
    local folder product program flags tools=(permd-scripted-agent permd-testapp)
    mkdir -p "$1"/{packages,programs}
    scripts/package
    cp dist/packages/permd{,-pipewire,-guard,-gate}_*.deb "$1/packages/"
    folder=$(release_build --tools "${tools[@]}")
    for product in "${tools[@]}"; do strip -o "$1/programs/$product" "$folder/$product"; done
    read -ra flags <<<"$(pkg-config --cflags --libs dbus-1)"
    compile() { cc -std=c11 -D_DEFAULT_SOURCE -Wall -Wextra -Werror -O1 -o "$@"; }
    compile "$1/programs/device-app" "$vm"/programs/{device-app,capture_*}.c "${flags[@]}"
    compile "$1/programs/ways-to-open" "$vm/programs/ways-to-open.c" -pthread
    compile "$1/programs/take-images" "$vm/programs/take-images.c"
    compile "$1/programs/never-free.so" "$vm/programs/never-free.c" -shared -fPIC
    compile "$1/programs/guard-cost" "$vm/programs/guard-cost.c" -pthread
    for program in usb-camera nmea heart-rate read-heart-rate serial-port make-sockets; do
        cp "$vm/programs/$program.py" "$1/programs/$program"
    done
}

# prepare_guest FOLDER: makes the folder that a guest shares, without steps.
prepare_guest() {
    mkdir -p "$1"/{state,guest/steps/1}
    cp -r "$shared"/built/. "$1/"
    cp -r "$vm"/guest/. scripts/as-flatpak debian/tests/smoke "$1/guest/"
}

# prepare_installed_guest FOLDER STEP…: builds what a guest of the host's release needs, and makes the folder that it shares,
# with the steps that log a user in and install what is shown.
prepare_installed_guest() {
    local suite step
    suite=$(host_suite)
    rm -rf "$shared"
    mkdir -p "$shared" "$cache"
    say "Building the emulated machine, unless it is there, and the packages"
    build_image "$suite" "$(image_of "$suite")"
    build_programs "$shared/built" >"$shared/build.log" 2>&1 || fail "the build failed; see $shared/build.log"
    prepare_guest "$1"
    for step in "${@:2}"; do cp "$vm/steps/1/$step" "$1/guest/steps/1/"; done
}

# shellcheck shell=bash
# Packages by system, what npm says, and `quietly`, written once: sourced by tests/run, tests/browser/run and the run scripts of examples.
# shellcheck disable=SC2034 # read by the scripts that source this file

# system_packages ID VERSION_ID ID_LIKE, which are those of /etc/os-release, sets
#   package_tool     apt, dnf; empty where we know no names: the build says what it misses
#   build_packages   what the build and the unit tests need
#   test_packages    what makes tests quick
#   all_packages     what `tests/run --all` needs beside them, as far as the system has it
# A version that is not known is taken for a newer one.
system_packages() {
    local id=$1 version=$2 like=$3
    package_tool='' build_packages=() test_packages=() all_packages=()
    case " $id $like " in
    *' debian '* | *' ubuntu '*)
        package_tool=apt
        test_packages=(tcc)
        build_packages=(gcc libc6-dev cmake make pkg-config protobuf-c-compiler libprotobuf-c-dev libclang-dev libjansson-dev nettle-dev zlib1g-dev check)
        all_packages=(g++ clang lld libclang-rt-dev gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm shellcheck libopenblas-dev
            openmpi-bin libopenmpi-dev python3 python3-numpy python3-onnx)
        [ "$(uname -m)" != x86_64 ] || all_packages+=(gcc-multilib) # 32-bit code
        ;;
    *' fedora '*)
        package_tool=dnf
        build_packages=(gcc glibc-devel cmake make pkgconf-pkg-config protobuf-c-compiler protobuf-c-devel clang-devel jansson-devel nettle-devel zlib-devel check-devel)
        all_packages=(gcc-c++ clang lld compiler-rt libasan libubsan arm-none-eabi-gcc-cs arm-none-eabi-newlib qemu-system-arm ShellCheck
            openblas-devel openmpi-devel python3 python3-numpy python3-onnx python3-torch chromium)
        ;;
    esac
    case "$id $version" in
    'debian 12') # as it was first asked for
        build_packages=("${build_packages[@]/#libclang-dev/libclang-14-dev}")
        all_packages=("${all_packages[@]/#libclang-rt-dev/libclang-rt-14-dev}")
        all_packages+=(frama-c-base python3-torch debootstrap chromium)
        ;;
    'ubuntu 22.04') # clang brings its runtime; PyTorch and ONNX of that time are too old
        local package kept=()
        for package in "${all_packages[@]}"; do
            case $package in libclang-rt-dev | python3-onnx) ;; *) kept+=("$package") ;; esac
        done
        all_packages=("${kept[@]}")
        ;;
    'ubuntu 24.04') all_packages+=(frama-c-base) ;;
    'debian '*) all_packages+=(python3-torch chromium) ;; # Ubuntu's Chromium is a snap
    esac
    # Node from elsewhere brings npm along and shuts out the system's package.
    command -v npm >/dev/null || all_packages+=(nodejs npm)
}

# os_release NAME: the system's ID, VERSION_ID ...; empty where it says nothing
os_release() {
    [ ! -r /etc/os-release ] || (
        # shellcheck source=/dev/null
        . /etc/os-release
        printf '%s' "${!1:-}"
    )
}

has_package() {
    case $package_tool in
    apt) [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ] ;;
    dnf) rpm -q --quiet --whatprovides "$1" ;;
    esac
}

# quietly COMMAND...: its output only if it fails
quietly() {
    local output
    output=$("$@" 2>&1) || {
        printf '%s\n' "$output" >&2
        return 1
    }
}

# npm_was_cut_off FILE: it failed, with FILE as its output, as it could not reach its registry, or as that is down
npm_was_cut_off() {
    # npm 8 writes "npm ERR! code", later ones "npm error code"
    grep -qE '^npm (ERR!|error) code E(NOTFOUND|AI_AGAIN|CONNREFUSED|CONNRESET|TIMEDOUT|NETUNREACH|HOSTUNREACH|RR_SOCKET_TIMEOUT|50[0-9])$' "$1"
}

# install_packages PACKAGE...: those that are missing, as root or through sudo; otherwise prints what to type and fails.
install_packages() {
    local package missing=() as_root=() install=(dnf install -y)
    [ -n "$package_tool" ] || return 0
    for package in "$@"; do
        has_package "$package" || missing+=("$package")
    done
    [ "${#missing[@]}" -gt 0 ] || return 0
    [ "$package_tool" = dnf ] || install=(apt-get install --no-install-recommends -y)
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null || ! sudo -v; then
            printf 'Some packages are missing. As root:\n    %s\n' "${install[*]} ${missing[*]}" >&2
            return 1
        fi
        as_root=(sudo)
    fi
    printf 'installing %s\n' "${missing[*]}"
    if [ "$package_tool" = apt ]; then
        "${as_root[@]}" apt-get update -qq || return 1
        install=(env DEBIAN_FRONTEND=noninteractive "${install[@]}" -qq)
    fi
    "${as_root[@]}" "${install[@]}" "${missing[@]}" >/dev/null
}

system_packages "$(os_release ID)" "$(os_release VERSION_ID)" "$(os_release ID_LIKE)"

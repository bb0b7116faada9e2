# shellcheck shell=bash
# The Debian 12 packages, written once: sourced by tests/run and examples/digits/run.

# What the build and the unit tests need.
# shellcheck disable=SC2034 # read by the scripts that source this file
build_packages=(gcc libc6-dev cmake make pkg-config protobuf-c-compiler libprotobuf-c-dev libclang-14-dev libjansson-dev check)
# What `tests/run --all` needs beside them.
# shellcheck disable=SC2034
all_packages=(g++ clang libclang-rt-14-dev gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm frama-c-base shellcheck libopenblas-dev
    python3 python3-numpy python3-onnx python3-torch)
[ "$(uname -m)" != x86_64 ] || all_packages+=(gcc-multilib) # 32-bit code

# install_packages PACKAGE...: those that are missing, as root or through sudo; otherwise prints what to type and fails.
install_packages() {
    local package missing=() as_root=()
    command -v dpkg-query >/dev/null || return 0 # not Debian: the build says what it misses
    for package in "$@"; do
        [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
    done
    [ "${#missing[@]}" -gt 0 ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null || ! sudo -v; then
            printf 'Some packages are missing. As root:\n    apt-get install --no-install-recommends -y %s\n' "${missing[*]}" >&2
            return 1
        fi
        as_root=(sudo)
    fi
    printf 'installing %s\n' "${missing[*]}"
    "${as_root[@]}" apt-get update -qq &&
        "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install --no-install-recommends -y -qq "${missing[@]}" >/dev/null
}

# setup.sh - what demo and test share: missing packages, the build, one line for each step. Sourced, not run.
# shellcheck shell=bash disable=SC2034

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=$(nproc)

# Packages that are needed to build the tool; to build and run the tests; and optional ones, where the distribution has
# them.
tool_packages=(cmake ninja-build g++ libcxxopts-dev libfmt-dev nlohmann-json3-dev)
test_packages=(catch2 libboost-context-dev python3)
extra_tool_packages=(libhwy-dev libthrust-dev)
extra_test_packages=(python3-numpy)

fail() {
  printf '%s: %s\n' "scripts/$(basename "$0")" "$1" >&2
  [ $# -lt 2 ] || printf 'hint: %s\n' "$2" >&2
  exit 2
}

say() { printf '%s\n' "$*"; }

is_installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# apt_install PACKAGE...: as root, by what install_missing has in as_root.
apt_install() {
  say "packages: installing $*"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >/dev/null
}

# install_missing NEEDED... -- EXTRA...: installs what is missing, and nothing else.
install_missing() {
  local needed=() extra=() there=() package list=needed
  for package in "$@"; do
    if [ "$package" = -- ]; then list=extra; continue; fi
    if is_installed "$package"; then continue; fi
    if [ $list = needed ]; then needed+=("$package"); else extra+=("$package"); fi
  done
  if [ ${#needed[@]} -eq 0 ] && [ ${#extra[@]} -eq 0 ]; then
    say "packages: all there"
    return
  fi

  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      if [ ${#needed[@]} -eq 0 ]; then return; fi  # the missing ones only make it faster
      fail "these packages are missing, and only root may install them: ${needed[*]}" \
        "run as root: apt-get install ${needed[*]} ${extra[*]}"
    fi
    as_root=(sudo)
  fi
  # If two scripts run side by side, one waits here; apt-get would give up.
  mkdir -p "$root/build"
  (
    flock 9
    "${as_root[@]}" apt-get -qq update || say "packages: apt-get update failed (is there a network?)"
    if [ ${#needed[@]} -gt 0 ]; then
      apt_install "${needed[@]}" || fail "apt-get could not install ${needed[*]}" "is there a network?"
    fi
    for package in "${extra[@]}"; do
      # Not every release has all packages.
      if apt-cache show "$package" >/dev/null 2>&1; then there+=("$package"); else say "packages: no $package here"; fi
    done
    if [ ${#there[@]} -gt 0 ]; then apt_install "${there[@]}" || say "packages: going on without ${there[*]}"; fi
  ) 9>"$root/build/packages.lock" || exit 2  # it has reported why
}

has_gpu() { nvidia-smi -L >/dev/null 2>&1; }

require_apt() {
  command -v apt-get >/dev/null ||
    fail "this script installs what is missing with apt-get, and there is none here" \
      "README.md, \"Building by hand\", names what is needed"
}

# configure PRESET [CMAKE OPTIONS...]: reports in one line what the build is for. Shows the log only if it fails.
configure() {
  local preset=$1 log=$root/build/$1/build.log
  shift
  mkdir -p "$(dirname "$log")"
  if command -v ccache >/dev/null; then set -- "$@" -DCMAKE_CXX_COMPILER_LAUNCHER=ccache; fi
  (cd "$root" && cmake --preset "$preset" "$@") >"$log" 2>&1 || { cat "$log"; fail "cmake --preset $preset failed"; }
  sed -n "s/^-- sweepsort: /$preset: /p" "$log"
}

# compile PRESET TARGET: compiles what has been configured.
compile() {
  local preset=$1 target=$2 folder=$root/build/$1 log=$root/build/$1/build.log start=$SECONDS
  # Without these, ccache does not keep what was compiled with precompiled headers.
  export CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros,include_file_mtime,include_file_ctime}
  cmake --build "$folder" --target "$target" -j "$jobs" >>"$log" 2>&1 ||
    { tail -n 60 "$log"; fail "the build failed" "the whole log is $log"; }
  say "$preset: built in $((SECONDS - start)) s"
}

#!/bin/sh
# What the embedded engine needs beyond Python packages: mmdebstrap, once, to make the base file system.
set -eu
[ -n "${TERMFORGE_BASE_TAR:-}" ] && exit 0
command -v mmdebstrap >/dev/null 2>&1 && exit 0
home=${TERMFORGE_HOME:-/var/lib/termforge}
[ "$(id -u)" = 0 ] || home=${TERMFORGE_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/termforge}
ls "$home"/rootfs/*/digest >/dev/null 2>&1 && exit 0
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "==> installing mmdebstrap with apt-get (once)"
  log=$(mktemp)
  if apt-get update -qq >"$log" 2>&1 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mmdebstrap >>"$log" 2>&1; then
    rm -f "$log"
    exit 0
  fi
  echo "mmdebstrap could not be installed: $(tail -n 1 "$log")" >&2
  rm -f "$log"
  exit 3
fi
echo "mmdebstrap is missing and is needed once, to make the base file system:" >&2
echo "  sudo apt-get install mmdebstrap uidmap        (or name a root file system with TERMFORGE_BASE_TAR)" >&2
exit 3

#!/bin/bash
# {script}: empties SRC into DEST and writes DEST/{manifest}
set -u
export LC_ALL=C
[ $# -eq 2 ] || exit {usage} #source
src=$1 dest=$2
case $src in /*) ;; *) src=$PWD/$src ;; esac
case $dest in /*) ;; *) dest=$PWD/$dest ;; esac
[ -d "$src" ] || exit {usage} #source
lock={lock} #lock
if [ -f "$lock" ]; then #lock
    pid=$(tr -cd 0-9 < "$lock") #lock
    if [ -n "$pid" ] && [ -d "/proc/$pid" ]; then exit {busy}; fi #lock
fi #lock
[ -d "${lock%/*}" ] || mkdir -p -- "${lock%/*}" #lock
echo $$ > "$lock" #lock
trap 'rm -f -- "$lock"' EXIT #lock
mkdir -p -- "$dest" || exit 1
cd -- "$src" || exit {usage}
moved=0 kept=0
same() {
    if [ -L "$1" ] || [ -L "$2" ]; then
        [ -L "$1" ] && [ -L "$2" ] && [ "$(readlink -n -- "$1"; echo .)" = "$(readlink -n -- "$2"; echo .)" ]
    else
        [ -f "$2" ] && cmp -s -- "$1" "$2"
    fi
}
while IFS= read -r -d '' file; do
    path=${file#./} good=
    target=$dest/$path
    if [ "$path" != {manifest} ]; then
        if [ -e "$target" ] || [ -L "$target" ]; then
            if same "$file" "$target"; then rm -f -- "$file" && good=1; fi
        elif { [ -d "${target%/*}" ] || mkdir -p -- "${target%/*}" 2>/dev/null; } && mv -nT -- "$file" "$target"; then
            [ -e "$file" ] || [ -L "$file" ] || good=1
        fi
    fi
    if [ "$good" ]; then moved=$((moved + 1)); else kept=$((kept + 1)); fi
done < <(find . {types} -print0)
cd -- "$dest" || exit 1
find . -type f ! -path ./{manifest} -printf '%P\0' | sort -z | xargs -0 -r sha256sum -z -- > "{manifest}"
echo "{moved}=$moved {kept}=$kept"
[ "$kept" -eq 0 ]

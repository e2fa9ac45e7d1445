# Makes the grader bundle: a Python that needs nothing of the image it runs in. Run inside a Debian with python3,
# python3-pytest and gcc; the first argument is the folder that becomes /.termforge in sandboxes. Layout:
#   ld.so  lib/*.so*             the loader and every library that the interpreter and its modules load
#   bin/{python3,dash,sleep}     programs
#   lib/python3.N  lib/python3   standard library, pytest
#   clock.so  grader/            what shifts the clock, made from clock.c; the grader's own sources, placed there before
set -eu
to=$1
python=$(readlink -f /usr/bin/python3)
version=${python##*/}
mkdir -p "$to/bin" "$to/lib"
cp "$python" "$to/bin/python3"
cp /bin/sleep /bin/dash "$to/bin/"
cp -a "/usr/lib/$version" "$to/lib/$version"
rm -rf "$to/lib/$version/sitecustomize.py" "$to/lib/$version/test" "$to/lib/$version/idlelib" "$to/lib/$version/tkinter"
cp -a /usr/lib/python3 "$to/lib/python3"
find "$to/lib/python3/dist-packages" -name '*.pth' -delete
# what programs and modules are linked against, and what the C library opens by name
{ ldd "$python" /bin/sleep /bin/dash; find "/usr/lib/$version/lib-dynload" -name '*.so' -exec ldd {} +; } |
  awk '$2 == "=>" && $3 ~ /^\// {print $3}' | sort -u | xargs -I{} cp -L {} "$to/lib/"
for name in libnss_files.so.2 libnss_dns.so.2 libgcc_s.so.1; do
  found=$(find /lib /usr/lib -name "$name" | head -n 1)
  [ -z "$found" ] || cp -L "$found" "$to/lib/"
done
cp -L "$(ldd "$python" | awk '$1 ~ /ld-linux/ {print $1}')" "$to/ld.so"
gcc -O2 -Wall -shared -fPIC -o "$to/clock.so" "$to/clock.c"
find "$to" -name __pycache__ -prune -exec rm -rf {} +
"$to/ld.so" --library-path "$to/lib" "$to/bin/python3" -I -S -m compileall -q -j 0 --invalidation-mode unchecked-hash "$to/lib" || true
chmod -R a+rX,go-w "$to"

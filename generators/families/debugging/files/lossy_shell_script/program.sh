#!/bin/bash
# {script}: empties SRC into DEST and writes DEST/{manifest}
SRC=$1
DEST=$2
mkdir -p $DEST
cd $SRC
N=0
find . -type f | while read f; do
    mkdir -p $DEST/$(dirname $f)
    mv -f $f $DEST/$f && N=$((N + 1))
done
cd $DEST
for f in $(find * -type f | sort); do
    [ $f = {manifest} ] || sha256sum $f
done | tr '\n' '\0' > {manifest}
echo {moved}=$N {kept}=0

#!/bin/bash
# {thing}: sums of every day and name
source etc/settings.sh
files=({spool}/*.txt)
if [[ ${#files[@]} -eq 0 ]]; then
    echo "nothing to do"
    exit 0
fi
echo "run started, ${#files[@]} files"
{tool} -v minimum="$MINIMUM" "${files[@]}" | sort > out/{report}

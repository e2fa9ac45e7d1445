#!/bin/bash
# {thing}: sums of every day and name
. etc/settings.sh
echo "run started"
{tool} -v minimum="$MINIMUM" {spool}/*.txt | sort > out/{report}

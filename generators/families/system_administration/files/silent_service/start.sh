#!/bin/bash
# runs @NAME@ in the foreground
cd @F@ || exit 1
set -a
[ -f etc/default ] && . etc/default
exec /usr/bin/python3 bin/@NAME@.py etc/@C@

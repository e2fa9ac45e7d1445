# read by login shells on this machine
export PATH="$PATH:{folder}/tools"
export TZ="{zone}"
export LANG=C.UTF-8
umask 022

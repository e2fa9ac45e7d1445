MINIMUM={minimum}
export TZ="{zone}"
export LC_ALL=C.UTF-8

"""Reads {table}. Rows are metered: METER, if set, names a file that gets their number in the end."""
import atexit
import os

PATH = os.environ.get("TABLE", "{folder}/{table}")
delivered = 0


def rows():
    """All rows of the table, in its order: ({account}, {group})."""
    global delivered
    with open(PATH) as table:
        for line in table:
            delivered += 1
            yield tuple(line.rstrip("\n").split(","))


@atexit.register
def report():
    if "METER" in os.environ:
        with open(os.environ["METER"], "w") as out:
            out.write(str(delivered))

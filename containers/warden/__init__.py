"""The warden: one small, single-threaded process per worker that makes sandboxes and enters them.

It is forked for every operation, so that an operation starts with an interpreter already in memory (a grader's with pytest
and the standard library) and nothing is ever imported from a sandbox. It knows no task and keeps no state: its owner holds
the descriptors of each sandbox. When its owner goes, it goes; when it goes, every sandbox it made is killed by the kernel
(parent-death signal).
"""

# Kinds of waiting children: as the warden is; in new user and mount namespaces; a bubblewrap without a network, or with the host's.
PLAIN, MAPPED, ISOLATED, NETWORKED = b"p", b"m", b"i", b"n"
# What a child is asked for with: its kind and, for a bubblewrap that is told its options at once, what it stands on, NUL, and those.
MOST_ASKED = 32768  # bytes

"""The Apptainer engine: no daemon, images in one folder, instances over overlays, for clusters as for one's own machine.

Apptainer is run as root of a user namespace that we make and map: what `--fakeroot` does, made by us for three reasons. Root
inside is then nobody outside even where root starts it; its writable layers are private memory of a limited size; and a process
namespace around it all takes every instance, mount and build with it when their owner ends, however that happens.

Programs do not come in by `apptainer exec`: it takes 65 ms, and cannot join an instance from within its own user namespace. The
instance is entered by the warden, as every sandbox made on this machine; so capabilities are dropped and system calls filtered.
Not as in the embedded engine: root in a sandbox can end it by a signal to process 1. What it left is graded all the same.

Built with Apptainer 1.4; 1.2 and newer should do.
"""

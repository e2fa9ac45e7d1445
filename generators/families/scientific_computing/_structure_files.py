"""Atoms of PDB-like files: their lines, which of them count, and the tables made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import sqrt


@dataclass(frozen=True)
class Atom:
    """One line of a file. Coordinates in thousandths, occupancy and B in hundredths."""

    record: str
    name: str
    alternate: str
    residue: str
    chain: str
    number: int
    insertion: str
    place: tuple[int, int, int]
    occupancy: int
    b: int


def line(serial: int, atom: Atom) -> str:
    """A record in fixed columns."""
    x, y, z = (value / 1000 for value in atom.place)
    return (
        f"{atom.record:<6}{serial:5d} {' ' + atom.name:<4}{atom.alternate}{atom.residue:>3} "
        f"{atom.chain}{atom.number:4d}"
        f"{atom.insertion or ' '}   {x:8.3f}{y:8.3f}{z:8.3f}{atom.occupancy / 100:6.2f}{atom.b / 100:6.2f}"
        f"          {atom.name[0]:>2}\n"
    )


def kept_atoms(atoms: Sequence[Atom]) -> dict[str, dict[str, dict[str, Atom]]]:
    """The atoms that count: chain -> residue -> atom name -> atom."""
    chains: dict[str, dict[str, dict[str, Atom]]] = {}
    for atom in atoms:
        if atom.record == "HETATM" and atom.residue != "MSE":
            continue
        residue = chains.setdefault(atom.chain, {}).setdefault(f"{atom.number}{atom.insertion}", {})
        other = residue.get(atom.name)
        if not other or (-atom.occupancy, atom.alternate) < (-other.occupancy, other.alternate):
            residue[atom.name] = atom
    return chains


def squared(one: Atom, other: Atom) -> int:
    """Squared distance in thousandths, a whole number."""
    (a, b, c), (d, e, f) = one.place, other.place
    return (a - d) ** 2 + (b - e) ** 2 + (c - f) ** 2


def measure(
    file: str, atoms: Sequence[Atom], limit: int, reach: int, deep: bool
) -> tuple[list[list[object]], list[list[object]]]:
    """The rows of both tables for one structure."""
    chains = kept_atoms(atoms)
    rows: list[list[object]] = []
    contacts: list[list[object]] = []
    for chain in sorted(chains):
        kept = [atom for residue in chains[chain].values() for atom in residue.values()]
        alphas = [residue["CA"] for residue in chains[chain].values()]
        breaks = sum(squared(one, other) > limit**2 for one, other in pairwise(alphas))
        count = len(kept)
        # n * sum(x^2) - (sum x)^2 is n^2 times the mean square distance from the centroid, in whole numbers
        spread = sum(count * sum(a.place[k] ** 2 for a in kept) - sum(a.place[k] for a in kept) ** 2 for k in range(3))
        radius = sqrt(spread / count**2) / 1000
        mean_b = sum(atom.b for atom in kept) / count / 100
        rows.append([file, chain, len(alphas), count, breaks, round(mean_b, 3), round(radius, 3)])
        for other in sorted(chains) if deep else ():
            if other <= chain:
                continue
            for name, first in chains[chain].items():
                for name2, second in chains[other].items():
                    if squared(first["CA"], second["CA"]) > (reach + 6000) ** 2:
                        continue
                    closest = min(squared(one, two) for one in first.values() for two in second.values())
                    if closest <= reach**2:
                        contacts.append([file, chain, name, other, name2, round(sqrt(closest) / 1000, 3)])
    return rows, contacts

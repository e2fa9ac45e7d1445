"""Words that families share: people, firms, hosts, places. Plain lists, so that a seed gives the same names anywhere."""

from __future__ import annotations

from random import Random

FIRST_NAMES = (
    "Ada Amara Anselm Aoife Beatriz Bjorn Carmen Chidi Dalia Darius Edda Emeka Farah Felix Gita Goran Hana Hugo Ines "
    "Ivo Jana Jonas Kaede Kofi Lena Luca Mara Milan Nadia Nils Olga Omar Petra Pavel Quinn Rana Rafael Sanna Stefan "
    "Tala Tomas Uma Ugo Vera Viktor Wanda Yusuf Zora"
).split()
LAST_NAMES = (
    "Abara Bakker Castellan Dubois Eriksen Fontaine Grabowski Hakim Ibarra Jansen Kovac Lindqvist Moreau Nakata Okafor "
    "Petrov Quiroga Rossi Sandoval Tanaka Ulrich Varga Weber Xu Yilmaz Zeman"
).split()
FIRMS = (
    "Alder Freight, Bluefin Analytics, Cormorant Health, Driftwood Press, Elmgate Bank, Fjord Energy, Gannet Logistics, "
    "Harbour Foods, Ironleaf Mining, Juniper Clinics, Kestrel Air, Lantern Books, Marlow Rail, Nettle Garden Supply, "
    "Orchard Insurance, Pebble Payments, Quarry Stone Works, Redwater Utility, Saltmarsh Fisheries, Thistle Textiles, "
    "Umber Paints, Vireo Media, Windrose Shipping, Yarrow Pharmacy"
).split(", ")
HOST_WORDS = (
    "amber basalt cedar delta ember flint garnet hazel indigo jasper kelp larch maple nickel onyx pine quartz raven "
    "slate topaz umbra violet willow zinc"
).split()
CITIES = (
    "Aarhus Bergen Coimbra Dakar Esbjerg Fukuoka Galway Haifa Izmir Jaipur Kazan Lund Montevideo Nantes Oulu Porto "
    "Quito Riga Seville Tartu Utrecht Valencia Wellington Zagreb"
).split()


def full_name(rng: Random) -> str:
    """A person."""
    return f"{rng.choice(FIRST_NAMES)} {rng.choice(LAST_NAMES)}"


def login(name: str) -> str:
    """The account name of a person: first letter and last name, lower case."""
    first, last = name.split(" ", 1)
    return (first[0] + last).lower()


def host(rng: Random) -> str:
    """A host name such as `basalt-07`."""
    return f"{rng.choice(HOST_WORDS)}-{rng.randint(1, 40):02d}"

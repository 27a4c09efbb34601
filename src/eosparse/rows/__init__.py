"""Where the rows live, and in which coordinates they are seen."""

from eosparse.rows.coordinates import Coordinates, choose_coordinates, spanned
from eosparse.rows.memory import MemoryRows

__all__ = ["Coordinates", "MemoryRows", "choose_coordinates", "spanned"]

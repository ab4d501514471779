"""Looks through the graph for a person: finds entities, where they stand, what they are connected with.

Nothing here decides anything, and no model is needed.
"""

from localrag.looking.desk import GraphDesk
from localrag.looking.types import Found, Mention, Neighbourhood, Place, Route, Step, ToldRelation

__all__ = ["Found", "GraphDesk", "Mention", "Neighbourhood", "Place", "Route", "Step", "ToldRelation"]

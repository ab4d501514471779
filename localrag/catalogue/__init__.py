"""Models: which exist, which are here, how to bring one, and which suit this machine.

`entries` is the catalogue, `installed` finds the files on this machine, `manage` adds, checks and removes
them, `pull` brings one of the catalogue, `recommend` chooses. Functions that are named like their module are
to be had from there.
"""

from localrag.catalogue.entries import CatalogueEntry, Role
from localrag.catalogue.installed import EmbeddingProfile, InstalledModel, embedding_profile, find_model

__all__ = [
    "CatalogueEntry",
    "EmbeddingProfile",
    "InstalledModel",
    "Role",
    "embedding_profile",
    "find_model",
]

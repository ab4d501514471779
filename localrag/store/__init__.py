"""The knowledge base's file: the only place with SQL. Everyone else sees `Store` and plain rows."""

from localrag.store.database import Store
from localrag.store.sqlite import capabilities

__all__ = ["Store", "capabilities"]

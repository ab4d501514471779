"""Following folders: what lies on the disk, compared with what is stored, and what follows from it."""

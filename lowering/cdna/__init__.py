"""AMD CDNA: gfx908, gfx90a, gfx942 and gfx950."""

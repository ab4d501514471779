"""`localrag bench`: the measures that docs/measurements.md quotes."""

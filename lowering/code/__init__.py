"""Code of any vendor or source: effects, graphs, dataflow, dominators, loops, values, locations."""

"""Code of any vendor: dataflow over its blocks, and its loops."""

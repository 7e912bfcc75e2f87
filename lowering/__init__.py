"""The targets as rows of data, and the lowering API. Needs no xDSL."""

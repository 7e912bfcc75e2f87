"""Proxy fences, and the analysis of asynchronous code that says where."""

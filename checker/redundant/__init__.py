"""Synchronisation of a kernel that no conflict of its accesses needs."""

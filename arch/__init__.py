"""Machines: operations, fabrics, RTL."""

"""The types of `settler.py`."""

cimport cython

from backend.words cimport Words


@cython.final
cdef class Settler:
    cdef int interval, units, tiles, nodes, streams, dear
    cdef unsigned long long seed
    cdef Words words
    cdef int[::1] code, latency, source, target, distance, in_at, ins, out_at, outs, before, after
    cdef int[::1] order_distance, delay, orders_at, orders, kind, near_at, near, group, bank, tile, apart
    cdef int[::1] unit, start, home, head, count, following
    cdef int random(self, int below)
    cdef int put(self, int n, int unit, int start)
    cdef int remove(self, int n)
    cdef bint fits(self, int n, int u)
    cdef int pick_unit(self, int n, int reach)
    cdef int ready(self, int e)
    cdef int pick_start(self, int n)
    cdef int order_cost(self, int n, int other)
    cdef int most(self, double temperature)
    cdef bint move_node(self, int n, int reach, double temperature)
    cdef bint move_value(self, int p, double temperature)
    cdef bint clear(self)
    cdef int sharer(self, int n)

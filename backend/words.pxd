"""The types of `words.py`."""

cimport cython

from backend.finder cimport Finder


@cython.final
cdef class Words:
    cdef int interval, units, tiles, nodes, room, stamp, touched, dear, clashes, shared
    cdef int[::1] code, latency, result, source, target, distance, in_at, ins, out_at, outs, tile, apart
    cdef int[::1] unit, start, held, full, owner, sore, rank, number, paid, stays, old_number, old_paid, old_stays
    cdef int[::1] seen, touch, floor, spot, cycle, old_spot, old_cycle, stay, old_stay, want
    cdef Finder finder
    cdef int slot(self, int cycle)
    cdef int done(self, int n)
    cdef int share(self, int k, int change)
    cdef void note(self, int k, int change)
    cdef int claim(self, int n, int change)
    cdef int lift(self, int p)
    cdef int hold(self, int p, int q, int cycle)
    cdef int fill(self, int q, int first, int last, int change)
    cdef int wait(self, int p, int q, int since, int until)
    cdef int lay(self, int p, int most)
    cdef int there(self, int p, int done, int reader, int when)
    cdef int bring(self, int p, int done, int reader, int when, int most)
    cdef int take(self, int p)
    cdef int take_all(self, int n)
    cdef void take_back(self)
    cdef int in_way(self, int n)
    cdef int least(self, int p)
    cdef int lay_all(self, int change, int most)
    cdef void lift_all(self)
    cdef bint late(self)

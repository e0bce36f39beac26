"""The types of `finder.py`."""

cimport cython


@cython.final
cdef class Finder:
    cdef int tiles, interval, steps
    cdef unsigned long long span
    cdef unsigned long long[::1] some, several, taken, twice, got, onto, been, first
    cdef int[::1] beside_at, beside, alive, tile, cycle
    cdef void mark(self, int q, int slot, int words)
    cdef void begin(self)
    cdef void add(self, int q, int cycle)
    cdef void look(self, int slot, int when)
    cdef int find(self, int reader, int slot, int when, int most)
    cdef bint arrive(self, int c)
    cdef void spread(self, int k, int longest)
    cdef int ends(self, int k, int reader, int when, unsigned long long waiting)
    cdef void go_back(self, int c, int reader, int when, unsigned long long waiting)

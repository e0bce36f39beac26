"""The types of `finder.py`."""

cimport cython


@cython.final
cdef class Finder:
    cdef int tiles, interval, steps
    cdef unsigned long long span
    cdef unsigned long long[::1] bit, some, several, taken, twice, got, onto, been, first, next
    cdef int[::1] at, beside_at, beside, onward_at, onward, alive, tile, cycle
    cdef void mark(self, int k, int words)
    cdef void begin(self)
    cdef void add(self, int q, int cycle)
    cdef void look(self, int slot, int when)
    cdef int find(self, int reader, int slot, int when, int most)
    cdef bint arrive(self, int c)
    cdef void cross(self, Py_ssize_t k)
    cdef void cross_twice(self, Py_ssize_t k)
    cdef void spread(self, Py_ssize_t k, int longest)
    cdef int ends(self, int k, int reader, int when, unsigned long long waiting)
    cdef void go_back(self, int c, int reader, int when, unsigned long long waiting)

"""The types of `words.py`."""

cdef class Words:
    cdef int interval, units, tiles, room, stamp, touched, dear
    cdef int[::1] code, latency, result, source, target, distance, in_at, ins, out_at, outs, tile, apart
    cdef int[::1] beside_at, beside, unit, start, held, full, owner, number, paid, stays, old_number
    cdef int[::1] old_paid, old_stays, seen, touch, spot, cycle, old_spot, old_cycle, stay, old_stay
    cdef int[::1] want, cost, parent, ever, ever_at
    cdef int slot(self, int cycle)
    cdef int done(self, int n)
    cdef int share(self, int k, int change)
    cdef int claim(self, int n, int change)
    cdef int lift(self, int p)
    cdef int hold(self, int p, int q, int cycle)
    cdef int fill(self, int q, int first, int last, int change)
    cdef int wait(self, int p, int q, int since, int until)
    cdef int lay(self, int p)
    cdef int there(self, int p, int done, int reader, int when)
    cdef int bring(self, int p, int here, int done, int reader, int when)
    cdef void look_back(self, int q, int layer)
    cdef int claim_way(self, int p, int base, int layer, int q)
    cdef int take(self, int p)
    cdef int take_all(self, int n)
    cdef void take_back(self)
    cdef int in_way(self, int n)
    cdef int late(self, int p)
    cdef int lay_all(self, int change, int most)
    cdef void lift_all(self)

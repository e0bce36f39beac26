/* What kernels compute with, beyond C: included by macah.h, so no other name is here than macah_ and MACAH_.
 *
 * Where C leaves a result undefined, these give one: the one of the operation table (arch/ops.py).
 */
#ifndef MACAH_KERNEL_H
#define MACAH_KERNEL_H

/* Of arithmetic operands, each evaluated once. */
#define macah_min(a, b) macah_choose(a, b, <)
#define macah_max(a, b) macah_choose(a, b, >)
#define macah_choose(a, b, is)                           \
  __extension__({                                        \
    __auto_type macah_a = +(a);                          \
    __auto_type macah_b = +(b);                          \
    __typeof__(macah_a + macah_b) macah_l = macah_a;     \
    __typeof__(macah_a + macah_b) macah_r = macah_b;     \
    macah_l is macah_r ? macah_l : macah_r;              \
  })
/* Unlike `a < 0 ? -a : a`, this is quiet about unsigned types and gives +0.0 for both zeros. */
#define macah_abs(a)                                     \
  __extension__({                                        \
    __auto_type macah_a = +(a);                          \
    macah_a > 0 ? macah_a : 0 - macah_a;                 \
  })
/* These are constants if their operands are. */
#define macah_min_of_constants(a, b) ((a) < (b) ? (a) : (b))
#define macah_max_of_constants(a, b) ((a) > (b) ? (a) : (b))
#define macah_abs_of_constants(a) ((a) > 0 ? +(a) : 0 - (a))

/* A truth value with its likelihood; and any value, whose truth has it. */
#define macah_expect(condition, likelihood) \
  ((int)__builtin_expect_with_probability((condition), 1, (likelihood)))
#define macah_expect_value(value, likelihood)                                             \
  __extension__({                                                                         \
    __auto_type macah_v = (value);                                                        \
    __builtin_expect_with_probability(!!macah_v, 1, (likelihood)) ? macah_v : (__typeof__(macah_v))0; \
  })

/* Division by zero gives -1, all ones, and leaves the dividend; by -1, the quotient wraps. */
void macah_fault(const char *what, const char *file, int line);
#ifdef MACAH_CHECK
#define MACAH_FAULT(condition, what) \
  if (condition) macah_fault(what, __FILE__, __LINE__)
/* The sanitizer of the compiler tells of these. */
#define macah_shl(a, n) ((a) << (n))
#define macah_shr(a, n) ((a) >> (n))
#define MACAH_PLACES(value, n) (n)
#else
#define MACAH_FAULT(condition, what)
/* Shift counts are taken modulo the width. */
#define MACAH_PLACES(value, n) ((n) & (int)(sizeof(value) * 8 - 1))
#define macah_shl(a, n)                                  \
  __extension__({                                        \
    __auto_type macah_v = +(a);                          \
    macah_v << MACAH_PLACES(macah_v, n);                 \
  })
#define macah_shr(a, n)                                  \
  __extension__({                                        \
    __auto_type macah_v = +(a);                          \
    macah_v >> MACAH_PLACES(macah_v, n);                 \
  })
#endif
#define MACAH_IS_SIGNED(x) ((__typeof__(x))-1 < (__typeof__(x))1)
#define MACAH_IS_FLOATING(x) ((__typeof__(x))0.5 > (__typeof__(x))0)
#define MACAH_DIVIDE(a, b, otherwise, by_minus_one, operation)                                          \
  __extension__({                                                                                       \
    __auto_type macah_a = +(a);                                                                         \
    __auto_type macah_b = +(b);                                                                         \
    __typeof__(macah_a + macah_b) macah_n = macah_a;                                                    \
    __typeof__(macah_a + macah_b) macah_d = macah_b;                                                    \
    MACAH_FAULT(macah_d == 0 && !MACAH_IS_FLOATING(macah_d), "division by zero");                       \
    MACAH_FAULT(MACAH_IS_SIGNED(macah_d) && !MACAH_IS_FLOATING(macah_d) && macah_d + 1 == 0 &&          \
                    macah_n != 0 && 0 - macah_n == macah_n,                                             \
                "division of the least number by -1");                                                  \
    !MACAH_IS_FLOATING(macah_d) && __builtin_expect(macah_d == 0, 0)                    ? (otherwise)   \
    : MACAH_IS_SIGNED(macah_d) && !MACAH_IS_FLOATING(macah_d) &&                                        \
            __builtin_expect(macah_d + 1 == 0, 0)                                                       \
        ? (by_minus_one)                                                                                \
        : macah_n operation macah_d;                                                                    \
  })
#define macah_div(a, b) MACAH_DIVIDE(a, b, (__typeof__(macah_d))-1, 0 - macah_n, /)
#define macah_rem(a, b) MACAH_DIVIDE(a, b, macah_n, 0 * macah_n, %)

/* The same as assignments to an lvalue without side effects, or by way of the address of one with. */
#define macah_div_assign(x, b) ((x) = macah_div(x, b))
#define macah_rem_assign(x, b) ((x) = macah_rem(x, b))
#define macah_shl_assign(x, n) ((x) = macah_shl(x, n))
#define macah_shr_assign(x, n) ((x) = macah_shr(x, n))
#define MACAH_ASSIGN_AT(pointer, operation, operand)     \
  __extension__({                                        \
    __auto_type macah_x = (pointer);                     \
    *macah_x = operation(*macah_x, operand);             \
  })
#define macah_div_assign_at(pointer, b) MACAH_ASSIGN_AT(pointer, macah_div, b)
#define macah_rem_assign_at(pointer, b) MACAH_ASSIGN_AT(pointer, macah_rem, b)
#define macah_shl_assign_at(pointer, n) MACAH_ASSIGN_AT(pointer, macah_shl, n)
#define macah_shr_assign_at(pointer, n) MACAH_ASSIGN_AT(pointer, macah_shr, n)

/* The count of a shift, which must be an integer, as in C. */
#define macah_places(by) ((void)sizeof(0 << (by)), (long long)(by))
/* Shifts the first dimension of an array, as `<<=` and `>>=` do. */
#define macah_shift_left(array, by) \
  macah_shift((array), 1, sizeof(array) / sizeof((array)[0]), sizeof((array)[0]), -macah_places(by))
#define macah_shift_right(array, by) \
  macah_shift((array), 1, sizeof(array) / sizeof((array)[0]), sizeof((array)[0]), macah_places(by))
/* The same for a window over a room of twice its size: the window slides, or is moved to the other end. */
#define macah_slide_left(window, room, by) \
  ((window) = (__typeof__(window))macah_slid(window, room, sizeof(room) / 2, sizeof *(room), -macah_places(by)))
#define macah_slide_right(window, room, by) \
  ((window) = (__typeof__(window))macah_slid(window, room, sizeof(room) / 2, sizeof *(room), macah_places(by)))
MACAH_INLINE void *macah_slid(void *window, void *room, __SIZE_TYPE__ size, __SIZE_TYPE__ element, long long by) {
  __UINT64_TYPE__ places = by < 0 ? 0ull - (unsigned long long)by : (unsigned long long)by;
  if (places >= size / element) return window;
  __SIZE_TYPE__ distance = (__SIZE_TYPE__)places * element;
  char *now = (char *)window, *bottom = (char *)room, *top = bottom + size;
  if (by < 0) {
    if ((__SIZE_TYPE__)(top - now) >= distance) return now + distance;
    return __builtin_memmove(bottom, now + distance, size - distance);
  }
  if ((__SIZE_TYPE__)(now - bottom) >= distance) return now - distance;
  __builtin_memmove(top + distance, now, size - distance);
  return top;
}
/* Shifts each of `rows` arrays of `count` elements that follow one another. */
#define macah_shift_left_of(array, rows, count, size, by) \
  macah_shift((array), (rows), (count), (size), -macah_places(by))
#define macah_shift_right_of(array, rows, count, size, by) \
  macah_shift((array), (rows), (count), (size), macah_places(by))

#endif

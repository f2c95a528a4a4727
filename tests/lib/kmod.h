/* SPDX-License-Identifier: GPL-2.0 */
/* What the parts of grtrace.ko that have no kernel in them take from it, for a test to compile
 * them. */
#ifndef GT_KMOD_H
#define GT_KMOD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int64_t s64;

typedef struct {
	s64 counter;
} atomic64_t;

#define READ_ONCE(x)		__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, v)	__atomic_store_n(&(x), v, __ATOMIC_RELAXED)
#define smp_load_acquire(p)	__atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define cmpxchg64(p, old, new)	__sync_val_compare_and_swap(p, old, new)
#define atomic64_read(a)	READ_ONCE((a)->counter)
#define div64_u64(a, b)		((a) / (b))

static inline bool atomic64_try_cmpxchg(atomic64_t *a, s64 *old, s64 new)
{
	return __atomic_compare_exchange_n(&a->counter, old, new, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

#endif

/* SPDX-License-Identifier: GPL-2.0 */
/* How large the ring of the BPF programs is: for all CPUs, and bounded by the machine. */
#include "../../backend/bpf/bpf.h"
#include "../lib/tap.h"

#define MIB (1ll << 20)
#define GIB (1ll << 30)

int main(void)
{
	is(gb_ring_size(4 * MIB, 2, 64 * GIB), 8 * MIB, "4 MiB for each of two CPUs");
	is(gb_ring_size(4 * MIB, 3, 64 * GIB), 16 * MIB, "of three: a power of two");
	is(gb_ring_size(4 * MIB, 8, 64 * GIB), 32 * MIB, "of eight: one for all");
	is(gb_ring_size(4 * MIB, 32, 64 * GIB), 32 * MIB, "of more: one for each eight");
	is(gb_ring_size(4 * MIB, 128, 64 * GIB), 16 * MIB, "of many: no more than all may have");
	is(gb_ring_size(4 * MIB, 128, 8 * GIB), 8 * MIB, "a 64th of the memory");
	is(gb_ring_size(4 * MIB, 128, 7 * GIB), 4 * MIB, "... rounded down");
	is(gb_ring_size(4096, 1, GIB), 4096, "a page");
	is(gb_ring_size(4096, 1, 0), 4096, "no less than a page");
	is(gb_ring_size(1ll << 40, 4096, 64 * GIB), 512 << 10, "too much");
	return done_testing();
}

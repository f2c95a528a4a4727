# SPDX-License-Identifier: GPL-2.0
# shellcheck shell=bash
# Sourced: can this babeltrace2 read a stream of ours?
no_plain="this babeltrace2 cannot read a plain stream of one event"

# 2.1.1, as Debian 13 has it, aborts on any stream of packets that do not say when they begin
reads_plain() {
	mkdir plain
	cat >plain/metadata <<'M'
/* CTF 1.8 */
typealias integer { size = 8; align = 8; signed = false; } := uint8_t;
trace { major = 1; minor = 8; byte_order = le; };
clock { name = c; freq = 1000000000; };
typealias integer { size = 8; align = 8; signed = false; map = clock.c.value; } := t;
stream { event.header := struct { t timestamp; uint8_t id; }; };
event { id = 0; name = "A"; fields := struct { uint8_t v; }; };
M
	printf '\1\0\1' >plain/events
	babeltrace2 plain >plain.out 2>&1
}

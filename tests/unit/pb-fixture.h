/* SPDX-License-Identifier: MIT */
/* Make a small profile that has every kind of content, and a folder to write the profile to. */
#ifndef TESTS_UNIT_PB_FIXTURE_H
#define TESTS_UNIT_PB_FIXTURE_H

#include "tests/unit/aggregate-fixture.h"

#include "libprof/aggregator/pprof.h"
#include "libprof/profile/lookup.h"
#include "libprof/profile/profile.h"
#include "tests/unit/own-folder.h"

#define MIB (1u << 20)
#define OUT "out.pb" /* in the current folder */

static void assert_has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("no '%s' in:\n%s", what, text);
}

static struct flameprof_profile *small_profile(void)
{
	struct flameprof_profile *p = aggregate_profile(MIB);
	struct names_module a = {.number = 1, .start = 0x7000, .end = 0xb000, .bias = 0x7000,
		.build_id_bytes = 4, .build_id = {0xde, 0xad, 0x00, 0x0f}, .segments = 2,
		.segment = {{0x8000, 0x9000, 0x1000}, {0xa000, 0xb000, 0x5000}}};
	struct names_module b = {.number = 2, .start = 0x400000, .end = 0x500000,
		.flags = WIRE_MODULE_MAIN};
	struct names_module vdso = {.number = 3, .start = 0x10000, .end = 0x11000, .bias = 0x10000,
		.flags = WIRE_MODULE_VDSO};
	struct names_code code = {.space = 100, .bytes = 16, .start = 0x66000};
	struct batch_maker maker;

	p->account.limit_bytes = MIB;
	batch_begin(&maker, 10, "worker");
	batch_add(&maker, 1, 2, FRAMES(WIRE_FRAME(1, 0x1800), WIRE_FRAME(2, 0x400010)));
	batch_add(&maker, 1, 1, FRAMES(WIRE_FRAME(WIRE_MODULE_CODE, 104), WIRE_FRAME(1, 0x3000),
		WIRE_FRAME(2, 0x400010)));
	batch_add(&maker, 1, 1, FRAMES(WIRE_FRAME(1, 0x2800), 0x1234, WIRE_FRAME(3, 0x10)));
	batch_add(&maker, 1, 1, FRAMES(WIRE_FRAME(1, 0x1800), WIRE_FRAME(2, 0x400010)));
	batch_add(&maker, 2, 5, NULL, 0)->kind = WIRE_KIND_CREDIT;
	batch_add(&maker, 2, 1, NULL, 0)->end = WIRE_END_LOST;
	batch_store(&maker, p);
	assert_int_equal(names_add_module(&p->names, &p->account, &a, "/lib/a.so"), 0);
	assert_int_equal(names_add_module(&p->names, &p->account, &b, "/bin/main"), 0);
	assert_int_equal(names_add_module(&p->names, &p->account, &vdso, "linux-vdso.so.1"), 0);
	assert_int_equal(names_add_code(&p->names, &p->account, &code, "Method; <one>"), 0);
	assert_int_equal(profile_add_mark(p, 1500500, 10, "phase two"), 0);
	return p;
}

static int leave(void **state)
{
	return own_folder_leave(state) || pages_mapped_bytes;
}

#endif

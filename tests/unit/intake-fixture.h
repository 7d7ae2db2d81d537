/* SPDX-License-Identifier: MIT */
/* For tests of control records: an arena, and flamerun's end of it. */
#ifndef TESTS_UNIT_INTAKE_FIXTURE_H
#define TESTS_UNIT_INTAKE_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/run/intake.h"
#include "libprof/sampler/control.h"

struct fixture {
	void *arena;
	struct profile *profile;
	struct intake intake;
	uint32_t image;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->arena = calloc(1, WIRE_ARENA_BYTES);
	fixture->profile = profile_new(197);
	assert_int_equal(intake_init(&fixture->intake, fixture->arena, fixture->profile), 0);
	fixture->image = profile_image(fixture->profile, 1);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	intake_release(&fixture->intake);
	profile_free(fixture->profile);
	free(fixture->arena);
	free(fixture);
	return 0;
}

#endif

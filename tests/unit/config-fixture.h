/* SPDX-License-Identifier: MIT */
/* For tests of settings files: what was read, and what was said of it. */
#ifndef TESTS_UNIT_CONFIG_FIXTURE_H
#define TESTS_UNIT_CONFIG_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "cli/config.h"

static struct options options;
static struct config config;
static struct diag_message message;

static void begin(void)
{
	config_release(&config);
	memset(&message, 0, sizeof(message));
	options_init(&options);
}

#endif

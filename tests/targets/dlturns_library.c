/* SPDX-License-Identifier: MIT */
/* The library for dlturns. It is built twice, with different names for the macro FUNCTION. */
#include "tests/targets/spin.h"

__attribute__((visibility("default"))) void FUNCTION(unsigned units);

void FUNCTION(unsigned units)
{
	spin(units);
}

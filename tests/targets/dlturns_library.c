/* SPDX-License-Identifier: MIT */
/* A library for dlturns: built twice, each time with another name as -DFUNCTION. */
#include "tests/targets/spin.h"

__attribute__((visibility("default"))) void FUNCTION(unsigned units);

void FUNCTION(unsigned units)
{
	spin(units);
}

/* SPDX-License-Identifier: MIT */
/* One of dlturns' libraries: built twice, with -DFUNCTION=a name of its own each time. */
#include "tests/targets/spin.h"

__attribute__((visibility("default"))) void FUNCTION(unsigned units);

void FUNCTION(unsigned units)
{
	spin(units);
}

/* SPDX-License-Identifier: MIT */
/*
 * The words of --jit, and what is said when they did nothing.
 */
#include "cli/run/jit.h"

#include <stddef.h>
#include <string.h>

#include "cli/diag.h"
#include "cli/gather/gather.h"
#include "libprof/wire.h"

static const char *const names[] = {"none", "python", NULL};
static const uint32_t bits[] = {0, WIRE_JIT_PYTHON};

const char *const *jit_names(void)
{
	return names;
}

uint32_t jit_mask(const char *list)
{
	uint32_t mask = 0;

	while (*list) {
		size_t bytes = strcspn(list, ",");

		for (size_t i = 0; names[i]; i++)
			if (strlen(names[i]) == bytes && !memcmp(names[i], list, bytes))
				mask |= bits[i];
		list += bytes + (list[bytes] == ',');
	}
	return mask;
}

static void tell_python(const struct gather *gather)
{
	static const char *const why[] = {
		[WIRE_PYTHON_VERSION] =
			"the Python here is not 3.11; from 3.12 on it names functions itself, "
			"started as 'python3 -X perf' or with PYTHONPERFSUPPORT=1",
		[WIRE_PYTHON_NO_EXTENSION] =
			"libflameprof-python3.11.so is not beside libflameprof.so.1, or cannot be "
			"loaded: it is built where the headers of Python 3.11 are (python3-dev)",
		[WIRE_PYTHON_NO_STUBS] = "the program may not make executable memory, or runs "
					 "Python functions by other means already",
	};
	uint32_t refused[WIRE_PYTHON_REFUSALS];

	if (gather_python(gather, refused))
		return;
	for (size_t i = 0; i < WIRE_PYTHON_REFUSALS; i++) {
		if (!refused[i])
			continue;
		diag_info("hint: --jit=python did nothing: %s", why[i]);
		return;
	}
	diag_info("hint: --jit=python did nothing: no process was a Python that lets others use "
		  "its functions");
}

void jit_tell(const char *list, const struct gather *gather)
{
	uint32_t mask = jit_mask(list);

	if (mask && !gather)
		diag_info("hint: --jit=%s did nothing: from outside nothing can be named", list);
	else if (mask & WIRE_JIT_PYTHON)
		tell_python(gather);
}

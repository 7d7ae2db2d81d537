/* SPDX-License-Identifier: MIT */
/*
 * A pprof profile: the numbers of its fields, and what our profiles say that profile.proto has no
 * field for. Source: https://github.com/google/pprof/blob/main/proto/profile.proto
 */
#ifndef LIBPROF_PPROF_FIELDS_H
#define LIBPROF_PPROF_FIELDS_H

enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14,
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STRING = 2, LABEL_NUMBER = 3 };
enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
};
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

/*
 * Sample types: samples/count, then cpu/nanoseconds (wall/nanoseconds of elapsed time). What
 * virtual machines told is time of a type of its own behind them, each stack having one of the two,
 * and none of the counted samples where there is a clock.
 */
#define PPROF_MACHINE_TIME "vm"

/* Mappings of what lies in no file: announced code, functions of virtual machines. */
#define PPROF_GENERATED_FILE "[generated code]"
#define PPROF_MACHINE_FILE   "[vm]"

/* Labels: a name and a number. Others' profiles have them, too. */
#define PPROF_THREAD	"thread"
#define PPROF_THREAD_ID "thread_id"

/* What a comment begins with; one comment for each. */
#define PPROF_COMMENT_TITLE   "title: "
#define PPROF_COMMENT_DROPPED "dropped: " /* then the weight of what is missing */
#define PPROF_COMMENT_MARK    "mark: "	  /* then milliseconds.microseconds, thread and text */

#endif

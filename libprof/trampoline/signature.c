/* SPDX-License-Identifier: MIT */
/* flameprof_signature_of(): what a stub has to know of a function's type. */
#include "libprof/flameprof_signature.h"

#include "arch/signature.h"

#define ALIGNMENT_MAX 16u /* a stub's frame has no more */
#define WORDS_MAX     64u

/* Larger ones are passed in one way only, on every CPU; results are above two words. */
#define VAGUE_ARGUMENT_MAX 64u
#define VAGUE_RESULT_MAX   16u

_Static_assert((int)FLAMEPROF_TYPE_OBJECT == (int)ARCH_TYPE_OBJECT &&
		       (int)FLAMEPROF_TYPE_COMPLEX == (int)ARCH_TYPE_COMPLEX,
	"kinds are the same");

static const struct flameprof_signature impossible = {
	.stack_words = ~0u, .integer_arguments = FLAMEPROF_SIGNATURE_UNKNOWN};

/* Returns whether stubs can be for it. */
static int read_type(uint64_t word, struct arch_type *out)
{
	unsigned kind = word & 0xff;

	*out = (struct arch_type){
		(enum arch_type_kind)kind, word >> 24, (unsigned)(word >> 8 & 0xffff)};
	return kind <= ARCH_TYPE_OBJECT && out->alignment <= ALIGNMENT_MAX;
}

/* Is it open how the type is passed? */
static int is_vague(const struct arch_type *type, uint64_t bytes_max)
{
	return type->kind == ARCH_TYPE_OBJECT ||
	       (type->kind == ARCH_TYPE_AGGREGATE && type->bytes <= bytes_max);
}

/*
 * The payload takes the first register, and each integer moves on by one: the last register's to the
 * stack, before all that is there, which moves on by one word.
 */
static int can_bind(const struct arch_call *call)
{
	if (call->has_pair && !ARCH_CALL_PAIRS_MOVE)
		return 0;
	return !call->is_spilled ||
	       !(call->is_spilled_behind || call->has_pair || call->has_aligned);
}

struct flameprof_signature flameprof_signature_of(
	uint64_t result, const uint64_t *arguments, size_t count)
{
	struct flameprof_signature signature = {0};
	struct arch_call call = {0};
	struct arch_type type;
	int vague;

	if (!read_type(result, &type))
		return impossible;
	vague = is_vague(&type, VAGUE_RESULT_MAX);
	signature.memory_result = (unsigned)arch_call_result(&call, &type);
	for (size_t i = 0; i < count; i++) {
		if (!read_type(arguments[i], &type))
			return impossible;
		if (type.kind == ARCH_TYPE_VOID)
			continue;
		vague |= is_vague(&type, VAGUE_ARGUMENT_MAX);
		arch_call_argument(&call, &type);
		if (call.stack_words > WORDS_MAX)
			return impossible;
	}
	signature.stack_words = (unsigned)call.stack_words;
	signature.integer_arguments =
		vague || !can_bind(&call) ? FLAMEPROF_SIGNATURE_UNKNOWN : call.integer_words;
	return signature;
}

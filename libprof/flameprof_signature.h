/* SPDX-License-Identifier: MIT */
/*
 * Compute a struct flameprof_signature from a function's type, instead of counting by hand:
 *
 *	struct flameprof_signature signature = FLAMEPROF_SIGNATURE(eval, int, struct vm *, double);
 *
 * For C11, with or without GNU extensions, and C++11.
 */
#ifndef FLAMEPROF_SIGNATURE_H
#define FLAMEPROF_SIGNATURE_H

#include <stddef.h>
#include <stdint.h>

#include "flameprof_stub.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The kind of a type, as far as argument passing depends on it. */
enum flameprof_type_kind {
	FLAMEPROF_TYPE_VOID = 0,
	FLAMEPROF_TYPE_INTEGER = 1, /* pointers, enums, bool, too */
	FLAMEPROF_TYPE_REAL = 2,    /* float, double and similar */
	FLAMEPROF_TYPE_LONG_DOUBLE = 3,
	FLAMEPROF_TYPE_COMPLEX = 4, /* of float or double */
	FLAMEPROF_TYPE_COMPLEX_LONG_DOUBLE = 5,
	FLAMEPROF_TYPE_AGGREGATE = 6, /* structures, unions and all others */
	/* A C++ class that is not trivially copyable: the ABI may pass its address instead. */
	FLAMEPROF_TYPE_OBJECT = 7
};

/* A type packed into a word. Kind, alignment and size in bytes decide how an argument is passed. */
#define FLAMEPROF_TYPE_WORD(kind, alignment, bytes)                                                \
	((uint64_t)(kind) | (uint64_t)(alignment) << 8 | (uint64_t)(bytes) << 24)

/*
 * Returns the signature of a function with these types, for stubs of every kind.
 *
 * `stack_words` is exact if all types are scalar or larger than 64 bytes. Otherwise it is an upper
 * bound: the members of an aggregate are unknown, so the aggregate is counted both in registers and
 * on the stack. A stub then copies too many words from above the caller's arguments, and the target
 * ignores them. So do not call such a stub from the outermost frame of a stack if the stack's
 * memory ends fewer than `stack_words` words above that frame.
 *
 * Bind stubs also need `integer_arguments`. It is FLAMEPROF_SIGNATURE_UNKNOWN, and bind stubs are
 * refused, for an aggregate of at most 64 bytes, or if the payload cannot be put before the other
 * arguments (struct flameprof_signature).
 *
 * @result     FLAMEPROF_TYPE_WORD()
 * @arguments  @count of them; FLAMEPROF_TYPE_VOID entries are skipped; borrowed for the call
 *
 * Returns a signature that every function refuses if there are more than 64 stack words or a type
 * is aligned to more than 16 bytes. Context: signal-safe.
 */
FLAMEPROF_API struct flameprof_signature flameprof_signature_of(
	uint64_t result, const uint64_t *arguments, size_t count);

#define FLAMEPROF_SIGNATURE_UNKNOWN (~0u)

#ifdef __cplusplus
}
#endif

/*
 * FLAMEPROF_SIGNATURE(function, result, argument, ...): flameprof_signature_of() for @function. The
 * types are checked: it does not compile if @function has another type. For a function without
 * arguments write void. C allows at most 16 arguments. Variadic functions are not supported.
 */
#if defined(__cplusplus) && __cplusplus >= 201103L

template <typename type> struct flameprof_type_of {
	static constexpr unsigned kind =
		__is_class(type) || __is_union(type)
			? (__is_trivially_copyable(type) ? FLAMEPROF_TYPE_AGGREGATE
							 : FLAMEPROF_TYPE_OBJECT)
		: __builtin_classify_type(*static_cast<type *>(nullptr)) == 8 ? FLAMEPROF_TYPE_REAL
		: __is_enum(type) || (__builtin_classify_type(*static_cast<type *>(nullptr)) >= 1 &&
			__builtin_classify_type(*static_cast<type *>(nullptr)) <= 5)
			? FLAMEPROF_TYPE_INTEGER
			: FLAMEPROF_TYPE_AGGREGATE;
	static constexpr uint64_t word = FLAMEPROF_TYPE_WORD(kind, alignof(type), sizeof(type));
};

template <typename type> struct flameprof_type_of<const type> : flameprof_type_of<type> {};
template <typename type> struct flameprof_type_of<volatile type> : flameprof_type_of<type> {};
template <typename type> struct flameprof_type_of<const volatile type> : flameprof_type_of<type> {};
template <typename type> struct flameprof_type_of<type &> : flameprof_type_of<void *> {};
template <typename type> struct flameprof_type_of<type &&> : flameprof_type_of<void *> {};

template <> struct flameprof_type_of<void> {
	static constexpr uint64_t word = 0;
};

template <> struct flameprof_type_of<long double> {
	static constexpr uint64_t word = FLAMEPROF_TYPE_WORD(
		FLAMEPROF_TYPE_LONG_DOUBLE, alignof(long double), sizeof(long double));
};

__extension__ template <> struct flameprof_type_of<__complex__ float> {
	static constexpr uint64_t word = FLAMEPROF_TYPE_WORD(FLAMEPROF_TYPE_COMPLEX, 4, 8);
};

__extension__ template <> struct flameprof_type_of<__complex__ double> {
	static constexpr uint64_t word = FLAMEPROF_TYPE_WORD(FLAMEPROF_TYPE_COMPLEX, 8, 16);
};

__extension__ template <> struct flameprof_type_of<__complex__ long double> {
	static constexpr uint64_t word =
		FLAMEPROF_TYPE_WORD(FLAMEPROF_TYPE_COMPLEX_LONG_DOUBLE, 16, 32);
};

template <typename result, typename... arguments>
inline flameprof_signature flameprof_signature_for(result (*)(arguments...))
{
	const uint64_t words[] = {0, flameprof_type_of<arguments>::word...};

	return flameprof_signature_of(
		flameprof_type_of<result>::word, words, sizeof...(arguments) + 1);
}

#define FLAMEPROF_SIGNATURE(function, result, ...)                                                 \
	flameprof_signature_for(static_cast<__typeof__(result) (*)(__VA_ARGS__)>(function))

#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L

/* An lvalue of @type (char for void), the operand of sizeof and __builtin_classify_type() below. */
#define FLAMEPROF_TYPE_SAMPLE(type)                                                                \
	(*_Generic((__typeof__(type) *)0,                                                          \
		void *: (char *)0,                                                                 \
		default: (__typeof__(type) *)0))

#define FLAMEPROF_TYPE_IS(type, other) __builtin_types_compatible_p(__typeof__(type), other)

/*
 * Returns the kind of @type. gcc's typeclass.h numbers the results of __builtin_classify_type(): 1
 * to 5 are integers, enumerations, bool and pointers, 8 are real numbers.
 */
#define FLAMEPROF_TYPE_KIND(type)                                                                  \
	(FLAMEPROF_TYPE_IS(type, void)			    ? FLAMEPROF_TYPE_VOID                  \
	 : FLAMEPROF_TYPE_IS(type, long double)		    ? FLAMEPROF_TYPE_LONG_DOUBLE           \
	 : FLAMEPROF_TYPE_IS(type, long double _Complex) ? FLAMEPROF_TYPE_COMPLEX_LONG_DOUBLE      \
	 : FLAMEPROF_TYPE_IS(type, double _Complex) || FLAMEPROF_TYPE_IS(type, float _Complex)     \
		 ? FLAMEPROF_TYPE_COMPLEX                                                          \
	 : __builtin_classify_type(FLAMEPROF_TYPE_SAMPLE(type)) == 8 ? FLAMEPROF_TYPE_REAL         \
	 : __builtin_classify_type(FLAMEPROF_TYPE_SAMPLE(type)) >= 1 &&                            \
			 __builtin_classify_type(FLAMEPROF_TYPE_SAMPLE(type)) <= 5                 \
		 ? FLAMEPROF_TYPE_INTEGER                                                          \
		 : FLAMEPROF_TYPE_AGGREGATE)

#define FLAMEPROF_TYPE_OF(type)                                                                    \
	__extension__ FLAMEPROF_TYPE_WORD(FLAMEPROF_TYPE_KIND(type),                               \
		__alignof__(FLAMEPROF_TYPE_SAMPLE(type)), sizeof(FLAMEPROF_TYPE_SAMPLE(type)))

/*
 * Makes a list of 16 type words. The caller pads its types with void; a 17th type fails to compile.
 */
#define FLAMEPROF_TYPES_OF(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, more, ...)           \
	FLAMEPROF_TYPE_OF(a), FLAMEPROF_TYPE_OF(b), FLAMEPROF_TYPE_OF(c), FLAMEPROF_TYPE_OF(d), \
		FLAMEPROF_TYPE_OF(e), FLAMEPROF_TYPE_OF(f), FLAMEPROF_TYPE_OF(g),               \
		FLAMEPROF_TYPE_OF(h), FLAMEPROF_TYPE_OF(i), FLAMEPROF_TYPE_OF(j),               \
		FLAMEPROF_TYPE_OF(k), FLAMEPROF_TYPE_OF(l), FLAMEPROF_TYPE_OF(m),               \
		FLAMEPROF_TYPE_OF(n), FLAMEPROF_TYPE_OF(o), FLAMEPROF_TYPE_OF(p),               \
		FLAMEPROF_TYPE_ASSERT(FLAMEPROF_TYPE_IS(more, void),                            \
			"FLAMEPROF_SIGNATURE: more than 16 arguments")

/* Evaluates to 0 if @condition holds, else does not compile. */
#define FLAMEPROF_TYPE_ASSERT(condition, text)                                                     \
	(0 * sizeof(struct {                                                                       \
		int member;                                                                        \
		_Static_assert(condition, text);                                                   \
	}))

#define FLAMEPROF_SIGNATURE(function, result, ...)                                                 \
	flameprof_signature_of(FLAMEPROF_TYPE_OF(result) +                                         \
			FLAMEPROF_TYPE_ASSERT(FLAMEPROF_TYPE_IS(*(function),                       \
						      __typeof__(result)(__VA_ARGS__)),            \
				"FLAMEPROF_SIGNATURE: the function has another type"),             \
		(const uint64_t[]){FLAMEPROF_TYPES_OF(__VA_ARGS__, void, void, void, void, void,   \
			void, void, void, void, void, void, void, void, void, void, void, void)},  \
		16)

#endif

#endif

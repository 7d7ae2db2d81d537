/* SPDX-License-Identifier: MIT */
/*
 * What fuzz-inlines begins with, built in several ways: a few functions inlined into each other.
 */
struct node {
	struct node *next;
	int value;
};

/* Of a compiler for C++: functions that have no name for linkers. */
#ifdef __cplusplus
namespace
{
#endif
static inline int square(int x)
{
	return x * x;
}

static inline int limited(int x)
{
	int y = square(x);

	if (y > 10) {
		int z = square(y);

		y += z;
	}
	return y;
}
#ifdef __cplusplus
}
#endif

int sum(const struct node *node);
int sum(const struct node *node)
{
	int total = 0;

	for (; node; node = node->next)
		total += limited(node->value) + square(total);
	return total;
}

int compare(const int *a, const int *b);
int compare(const int *a, const int *b)
{
	return limited(*a) < limited(*b) ? sum(0) : square(*a);
}

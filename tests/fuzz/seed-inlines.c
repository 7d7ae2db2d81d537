/* SPDX-License-Identifier: MIT */
/*
 * This source, built in several ways, gives the first inputs of fuzz-inlines. Its functions are
 * inlined into each other.
 */
struct node {
	struct node *next;
	int value;
};

/* In C++ the functions have internal linkage and therefore no linkage name. */
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

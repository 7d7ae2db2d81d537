/* SPDX-License-Identifier: MIT */
/*
 * The tails of t are an incomplete beta function, computed by its continued fraction (Abramowitz
 * and Stegun 26.5.8, by Lentz's method). Recurrence raises the arguments of lgamma()'s derivatives
 * to where the asymptotic series (6.3.18, 6.4.12) are exact. Inverses use bisection, as all these
 * functions are monotone.
 */
#include "cli/compare/student.h"

#include <math.h>

#define FRACTION_STEPS 10000
#define FRACTION_TINY  1e-300
#define BISECTIONS     200
/* From this argument on, omitted terms of the series are below a double's precision. */
#define SERIES_FROM 20.0

/* Returns the next factor of Lentz's method; *@c and *@d are its ratios of successive terms. */
static double step_fraction(double term, double *c, double *d)
{
	*d = 1 + term * *d;
	*c = 1 + term / *c;
	if (fabs(*d) < FRACTION_TINY)
		*d = FRACTION_TINY;
	if (fabs(*c) < FRACTION_TINY)
		*c = FRACTION_TINY;
	*d = 1 / *d;
	return *c * *d;
}

/* Returns the continued fraction of beta_part(). Fast only for @x < (a + 1) / (a + b + 2). */
static double beta_fraction(double x, double a, double b)
{
	double c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), product = d;

	for (int m = 1; m < FRACTION_STEPS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double factor = step_fraction(even, &c, &d) * step_fraction(odd, &c, &d);

		product *= factor;
		if (fabs(factor - 1) < 1e-15)
			break;
	}
	return product;
}

/* Returns the regularised incomplete beta function. @y is 1 - @x, with all its digits. */
static double beta_part(double x, double y, double a, double b)
{
	double front;

	if (x <= 0 || y <= 0)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log(y));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(x, a, b) / a;
	return 1 - front * beta_fraction(y, b, a) / b;
}

double student_tails(double t, double df)
{
	double square = t * t;

	if (isinf(df))
		return erfc(fabs(t) / M_SQRT2);
	if (isinf(square))
		return 0;
	return beta_part(df / (df + square), square / (df + square), df / 2, 0.5);
}

double student_quantile(double tails, double df)
{
	double low = 0, high = 1;

	while (student_tails(high, df) > tails && high < 1e150)
		high *= 2;
	for (int i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;

		if (student_tails(middle, df) > tails)
			low = middle;
		else
			high = middle;
	}
	return high;
}

double student_digamma(double x)
{
	double below = 0;

	for (; x < SERIES_FROM; x++)
		below += 1 / x;
	double r = 1 / (x * x);

	return log(x) - 1 / (2 * x) -
	       r * (1.0 / 12 - r * (1.0 / 120 - r * (1.0 / 252 - r * (1.0 / 240 - r / 132)))) -
	       below;
}

double student_trigamma(double x)
{
	double below = 0;

	for (; x < SERIES_FROM; x++)
		below += 1 / (x * x);
	double r = 1 / (x * x);

	return below + 1 / x + r / 2 +
	       r / x * (1.0 / 6 - r * (1.0 / 30 - r * (1.0 / 42 - r * (1.0 / 30 - r * 5 / 66))));
}

/* Bisect the logarithm, because trigamma falls as 1 / x for large x and 1 / x^2 for small x. */
double student_trigamma_inverse(double y)
{
	double low = -350, high = 350;

	for (int i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;

		if (student_trigamma(exp(middle)) > y)
			low = middle;
		else
			high = middle;
	}
	return exp(high);
}

/* SPDX-License-Identifier: MIT */
/*
 * Student's t and the two functions of its kin that moderated variances need: the tail of a normal
 * one where there are infinitely many degrees of freedom. A library of statistics (GSL) would be
 * two megabytes for these.
 *
 * Context: any thread.
 */
#ifndef CLI_COMPARE_STUDENT_H
#define CLI_COMPARE_STUDENT_H

/* How likely it is that |T| is @t or more, of @df degrees of freedom (> 0, may be INFINITY). */
double student_tails(double t, double df);

/* The t >= 0 of which student_tails() is @tails, 0 < @tails <= 1. */
double student_quantile(double tails, double df);

/* The first and second derivative of the logarithm of the gamma function, @x > 0. */
double student_digamma(double x);
double student_trigamma(double x);

/* The x of which student_trigamma() is @y > 0. */
double student_trigamma_inverse(double y);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Student's t distribution, and derivatives of lgamma() that moderated variances need. With
 * infinite degrees of freedom, t is normally distributed. A statistics library (GSL) would add two
 * megabytes for these functions.
 *
 * Context: any thread.
 */
#ifndef CLI_COMPARE_STUDENT_H
#define CLI_COMPARE_STUDENT_H

/* Returns the probability of |T| >= @t with @df degrees of freedom (> 0, may be INFINITY). */
double student_tails(double t, double df);

/* Returns the t >= 0 with student_tails(t, @df) == @tails; 0 < @tails <= 1. */
double student_quantile(double tails, double df);

/* Return the first and the second derivative of lgamma(@x); @x > 0. */
double student_digamma(double x);
double student_trigamma(double x);

/* Returns the x with student_trigamma(x) == @y; @y > 0. */
double student_trigamma_inverse(double y);

#endif

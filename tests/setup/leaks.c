/* SPDX-License-Identifier: MIT */
/*
 * Set options of LeakSanitizer for builds with SAN=. They are linked in, because tests change the
 * environment. fontconfig keeps memory until the process ends, and cairo has no function to free
 * it.
 */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_options(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:libfontconfig.so\n";
}

const char *__lsan_default_options(void)
{
	return "print_suppressions=0";
}

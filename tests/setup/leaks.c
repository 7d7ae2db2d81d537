/* SPDX-License-Identifier: MIT */
/*
 * Linked into what SAN= builds, so that it holds whatever environment a test gives: what fontconfig
 * keeps for the life of a process is not ours to free, and cairo gives no way to.
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

/* SPDX-License-Identifier: MIT */
/* Checked also: sanitized. */
/*
 * Test the message that explains why a process may not be traced. The test supplies the facts,
 * because it cannot have all these kernels, users and security modules.
 */
#include "cli/outside/refusal.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* A process of this user that nothing protects. Each test changes some of these facts. */
static const struct refusal_facts ours = {.pid = 12,
	.who = "12 (server)",
	.user = "jo",
	.is_ours = true,
	.shares_user_namespace = true};

static void assert_says(const struct refusal_facts *facts, const char *text, const char *hint)
{
	struct diag_message message = {0};

	assert_int_equal(refusal_of_permission(facts, &message), -EPERM);
	if (!strstr(message.text, text) || !strstr(message.text, "12 (server)"))
		fail_msg("'%s' lacks '%s'", message.text, text);
	if (!strstr(message.hint, hint))
		fail_msg("'%s' lacks '%s'", message.hint, hint);
}

static void yama_scopes(void **state)
{
	struct refusal_facts facts = ours;

	(void)state;
	facts.yama_scope = 1;
	assert_says(&facts, "ptrace_scope is 1, only its ancestors may", "sysctl kernel.yama");
	facts.yama_scope = 2;
	assert_says(&facts, "ptrace_scope is 2, only root may", "sudo flamerun -p");
	facts.yama_scope = 3;
	assert_says(&facts, "ptrace_scope is 3, nobody may", "until the next boot");
}

/* The hint for root is not sudo. */
static void yama_and_root(void **state)
{
	struct refusal_facts facts = ours;

	(void)state;
	facts.is_root = true;
	for (facts.yama_scope = 0; facts.yama_scope < 3; facts.yama_scope++)
		assert_says(&facts, "does not let us trace", "--cap-add=SYS_PTRACE");
	assert_says(&facts, "ptrace_scope is 3, nobody may", "until the next boot");
}

/*
 * If the process belongs to another user, the message gives this reason, whatever other reasons
 * there are.
 */
static void somebody_elses(void **state)
{
	struct refusal_facts facts = ours;

	(void)state;
	facts.is_ours = false;
	facts.yama_scope = 2;
	facts.is_private = true;
	assert_says(&facts, "belongs to jo", "as this user or as root");
}

static void a_private_one(void **state)
{
	struct refusal_facts facts = ours;

	(void)state;
	facts.is_private = true;
	facts.yama_scope = 1;
	assert_says(&facts, "keeps its memory to itself", "root may trace it");
	facts.is_root = true;
	facts.yama_scope = 0;
	assert_says(&facts, "does not let us trace", "--cap-add=SYS_PTRACE");
}

static void another_namespace(void **state)
{
	struct refusal_facts facts = ours;

	(void)state;
	facts.shares_user_namespace = false;
	assert_says(&facts, "is in another user namespace", "nsenter -U -t 12");
	facts.is_root = true;
	assert_says(&facts, "is in another user namespace", "as root of the machine");
}

static void what_can_be_foreseen(void **state)
{
	struct diag_message message = {0};

	(void)state;
	assert_int_equal(refusal_predict(4194304, &message), -ESRCH);
	assert_string_equal(message.text, "there is no process 4194304");
	assert_int_equal(refusal_predict(getpid(), &message), -EINVAL);
	assert_int_equal(refusal_explain(4194304, -EPERM, &message), -EPERM);
	assert_string_equal(message.text, "there is no process 4194304");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(yama_scopes),
		cmocka_unit_test(yama_and_root),
		cmocka_unit_test(somebody_elses),
		cmocka_unit_test(a_private_one),
		cmocka_unit_test(another_namespace),
		cmocka_unit_test(what_can_be_foreseen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

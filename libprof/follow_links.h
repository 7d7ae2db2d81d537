/* SPDX-License-Identifier: MIT */
/*
 * Find the folder and name of an output file behind all symbolic links, for flamerun and the
 * library. Both replace a file by a rename and so resolve links themselves. A rename would replace
 * the target even of a link that the kernel refuses to follow, so the kernel's rule for sticky
 * folders is applied here, whatever the machine's settings are.
 */
#ifndef LIBPROF_FOLLOW_LINKS_H
#define LIBPROF_FOLLOW_LINKS_H

#include <limits.h>

/*
 * Returned negated, in place of an errno: a file or link on the path belongs to another user and
 * may be a trap. Report it to callers outside as EACCES.
 */
#define FOLLOW_ANOTHERS 4095

/* The file that a path names behind all links. */
struct followed {
	int folder;	/* O_PATH descriptor of its folder, owned */
	/* O_NOFOLLOW; 0 if @name is a /proc link to an object without a name, such as a pipe */
	int open_flags;
	char name[NAME_MAX + 1]; /* name in @folder; need not exist */
};

/*
 * Resolve all links of @path, one component after the other, as the kernel does with
 * fs.protected_symlinks, fs.protected_regular and fs.protected_fifos set to 1: in a world-writable
 * sticky folder, a link is followed, and a regular file or FIFO accepted, only if it belongs to the
 * caller (effective uid) or to the folder's owner. Such a file of another user is not replaced by a
 * rename either, although the kernel lets root do so.
 *
 * Returns 0 and @out, to be released with followed_release(); -FOLLOW_ANOTHERS; -EISDIR if @path is
 * a folder; or -errno.
 * Context: any thread, not a signal handler. Needs about 9 KB of stack.
 * Source: proc_sys_fs(5); may_follow_link() and may_create_in_sticky() in the kernel's fs/namei.c.
 */
int follow_links(const char *path, struct followed *out);
void followed_release(struct followed *place);

/*
 * Open the file at @place without waiting. A FIFO that no process reads gives -ENXIO.
 * @flags  for openat(2); O_NONBLOCK is added
 * Returns an owned descriptor; -FOLLOW_ANOTHERS if another user has put a file there since
 * follow_links(); or -errno.
 */
int followed_open(const struct followed *place, int flags);

#endif

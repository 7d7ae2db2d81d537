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
 * An error beside the errnos, returned negated: a file or link on the path belongs to another user
 * and may be a trap. Report it to users as EACCES.
 */
#define FOLLOW_ANOTHERS 4095

/* The file that a path names after all links were followed. */
struct followed {
	/* O_PATH descriptor of the file's folder, owned. */
	int folder;
	/* O_NOFOLLOW; 0 if @name is a link in /proc to an object without a name, such as a pipe. */
	int open_flags;
	char name[NAME_MAX + 1]; /* in @folder; need not exist */
};

/*
 * Resolve all links of @path, one component after the other. Apply the rules of the kernel's
 * fs.protected_symlinks, fs.protected_regular and fs.protected_fifos set to 1: in a world-writable
 * sticky folder, a link is followed, and a regular file or FIFO accepted, only if it belongs to the
 * caller (effective uid) or to the folder's owner. A regular file of another user in such a folder
 * is refused even to root, although the kernel would let root rename over it.
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

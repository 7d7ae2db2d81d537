/* SPDX-License-Identifier: MIT */
/*
 * Where a file that somebody named is to be written, all symbolic links followed, for flamerun and
 * the library. Who may follow which is decided here and not by the machine's settings: a rename
 * would replace the target of a link that the kernel itself refuses to follow.
 */
#ifndef LIBPROF_FOLLOW_LINKS_H
#define LIBPROF_FOLLOW_LINKS_H

#include <limits.h>

/*
 * Negative, instead of an errno: something on the way is another user's and may be a trap. To the
 * kernel and to programs that is -EACCES.
 */
#define FOLLOW_ANOTHERS 4095

/* Behind all links. */
struct followed {
	int folder;	/* O_PATH descriptor, owned */
	int open_flags; /* O_NOFOLLOW; 0: @name is a link of /proc to what has no name, as a pipe */
	char name[NAME_MAX + 1]; /* in @folder; need not exist */
};

/*
 * Follow all links of @path, one component after the other, as the kernel does where
 * fs.protected_symlinks, fs.protected_regular and fs.protected_fifos are 1: in a sticky folder that
 * everybody may write to, a link is followed, and a file or FIFO written, only when it belongs to
 * the caller (by its effective uid) or to the folder's owner. A file of another's is not even
 * replaced by a rename, though the kernel lets root do that: somebody may wait for it there.
 *
 * Returns 0 and @out, owned by the caller; -FOLLOW_ANOTHERS; -EISDIR for any folder; or -errno.
 * Context: any thread, not a handler. Takes some 9 KB of stack.
 * Source: proc_sys_fs(5); may_follow_link() and may_create_in_sticky() in the kernel's fs/namei.c.
 */
int follow_links(const char *path, struct followed *out);
void followed_release(struct followed *place);

/*
 * Open what is at @place without waiting for it: a FIFO that nobody reads is -ENXIO.
 * @flags  for openat(2), O_NONBLOCK among them by itself.
 * Returns a descriptor, -FOLLOW_ANOTHERS for what was laid there since, or -errno.
 */
int followed_open(const struct followed *place, int flags);

#endif

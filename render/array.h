/* SPDX-License-Identifier: MIT */
/*
 * Arrays that grow by doubling, from malloc: a pointer, how many elements are in use and for how
 * many there is room, in whatever structure and of whatever unsigned type. And sorted ones, looked
 * through by halves.
 */
#ifndef RENDER_ARRAY_H
#define RENDER_ARRAY_H

#include <errno.h>
#include <stdlib.h>

/*
 * Have room for one more behind the @count elements of @list; for @first at the beginning. @list
 * and @room are changed, and evaluated several times.
 * Returns 0, or -ENOMEM with the array as it was.
 */
#define ARRAY_GROW(list, count, room, first)                                                       \
	((count) < (room) ? 0 : __extension__({                                                    \
		size_t array_room_ = (room) ? 2 * (size_t)(room) : (first);                        \
		void *array_list_ = reallocarray((list), array_room_, sizeof(*(list)));            \
                                                                                                   \
		if (array_list_) {                                                                 \
			(list) = array_list_;                                                      \
			(room) = (__typeof__(room))array_room_;                                    \
		}                                                                                  \
		array_list_ ? 0 : -ENOMEM;                                                         \
	}))

/*
 * How many of the @count elements of @list have at most @value in @field, by which they are sorted:
 * the number of the first that has more. @list and @value are evaluated several times.
 */
#define ARRAY_UPTO(list, count, field, value)                                                      \
	__extension__({                                                                            \
		size_t array_low_ = 0, array_high_ = (count);                                      \
                                                                                                   \
		while (array_low_ < array_high_) {                                                 \
			size_t array_middle_ = array_low_ + (array_high_ - array_low_) / 2;        \
                                                                                                   \
			if ((list)[array_middle_].field <= (value))                                \
				array_low_ = array_middle_ + 1;                                    \
			else                                                                       \
				array_high_ = array_middle_;                                       \
		}                                                                                  \
		array_low_;                                                                        \
	})

#endif

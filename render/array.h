/* SPDX-License-Identifier: MIT */
/* Macros for growable arrays from malloc and for binary search, for any types of elements. */
#ifndef RENDER_ARRAY_H
#define RENDER_ARRAY_H

#include <errno.h>
#include <stdlib.h>

/*
 * Make room for at least one more element in @list, which has @count elements and room for @room. A
 * full array doubles its room; the first allocation has room for @first elements. The macro assigns
 * @list and @room and evaluates its arguments several times. Returns 0, or -ENOMEM with the array
 * unchanged.
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
 * Count the elements of @list whose @field is at most @value. The @count elements must be sorted by
 * @field. The result is also the index of the first element with a larger @field. @list and @value
 * are evaluated several times.
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

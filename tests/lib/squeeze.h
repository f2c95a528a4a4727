/* SPDX-License-Identifier: GPL-2.0 */
#ifndef GT_TEST_SQUEEZE_H
#define GT_TEST_SQUEEZE_H

/** squeeze() - takes the blanks away that line a table's columns up */
static inline char *squeeze(char *s)
{
	char *to = s;

	for (const char *p = s; *p; p++)
		if (*p != ' ' || (to > s && to[-1] != '\n' && to[-1] != ' '))
			*to++ = *p;
	*to = '\0';
	return s;
}

#endif

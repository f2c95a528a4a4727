// SPDX-License-Identifier: GPL-2.0
/* Lists of numbers: "1,2" only these, "!3" all but these, "" no list. */
#include <linux/kernel.h>
#include <linux/seq_file.h>
#include <linux/string.h>

#include "internal.h"

/**
 * grt_list_parse() - takes a list
 * @l: is filled; unchanged where the text is none
 * @text: is taken to pieces
 *
 * Return: 0, -EINVAL, -ERANGE for a number or too many
 */
int grt_list_parse(struct grt_list *l, char *text)
{
	struct grt_list new = {};
	char *item;
	int r;

	text = strim(text);
	while (*text && (item = strsep(&text, ","))) {
		item = strim(item);
		if (*item == '!') {
			if (new.n && !new.inverted)
				return -EINVAL;
			new.inverted = true;
			item++;
		} else if (new.inverted) {
			return -EINVAL;
		}
		if (new.n == GRT_LIST_MAX)
			return -ERANGE;
		r = kstrtou32(item, 0, &new.id[new.n++]);
		if (r)
			return r;
		if (!text)
			break;
	}
	*l = new;
	return 0;
}

/** grt_list_show() - as it is written */
void grt_list_show(struct seq_file *m, const struct grt_list *l)
{
	for (u32 i = 0; i < l->n; i++)
		seq_printf(m, "%s%s%u", i ? "," : "", l->inverted ? "!" : "", l->id[i]);
}

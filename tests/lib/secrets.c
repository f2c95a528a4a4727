/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "secrets.h"

/** struct secret - @num: it is a number, @value; @text, @hex: how it is written */
struct secret {
	char who[16], kind[16], text[64], hex[32];
	bool num;
	uint64_t value;
};

static struct secret secrets[GT_SECRETS];
static unsigned int count;

int gt_secrets_read(const char *name)
{
	FILE *f = fopen(name, "re");
	char *end;

	if (!f)
		return -errno;
	for (struct secret *s = secrets; count < GT_SECRETS; s++, count++) {
		if (fscanf(f, "%15s %15s %63s", s->who, s->kind, s->text) != 3)
			break;
		s->value = strtoull(s->text, &end, 10);
		s->num = !*end;
		if (s->value >> 32)
			snprintf(s->hex, sizeof(s->hex), "%llx", (unsigned long long)s->value);
	}
	fclose(f);
	return 0;
}

static bool wordy(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool has_text(const char *buf, size_t len, const char *text, bool word)
{
	size_t n = strlen(text);
	const char *p = buf, *end = buf + len;

	while (n && (p = memmem(p, (size_t)(end - p), text, n))) {
		if (!word || ((p == buf || !wordy(p[-1])) && (p + n == end || !wordy(p[n]))))
			return true;
		p++;
	}
	return false;
}

static bool has_bytes(const char *buf, size_t len, uint64_t value)
{
	size_t n = value >> 32 ? 8 : 4;

	for (size_t i = 0; i + n <= len; i += 4)
		if (!memcmp(buf + i, &value, n))
			return true;
	return false;
}

static bool has(const char *buf, size_t len, const struct secret *s)
{
	return has_text(buf, len, s->text, s->num) ||
	       (s->num && (has_text(buf, len, s->hex, true) || has_bytes(buf, len, s->value)));
}

static bool told_before(unsigned int i, uint64_t found)
{
	for (unsigned int k = 0; k < i; k++)
		if ((found & 1ULL << k) && !strcmp(secrets[k].who, secrets[i].who) &&
		    !strcmp(secrets[k].kind, secrets[i].kind))
			return true;
	return false;
}

void gt_secrets_in(char *out, size_t size, const char *buf, size_t len)
{
	uint64_t found = 0;
	size_t at = 0;

	snprintf(out, size, ".");
	for (unsigned int i = 0; i < count; i++) {
		if (!has(buf, len, &secrets[i]) || told_before(i, found))
			continue;
		found |= 1ULL << i;
		at += (size_t)snprintf(out + at, size - at, "%s%s:%s", at ? "," : "",
				       secrets[i].who, secrets[i].kind);
		if (at >= size)
			return;
	}
}

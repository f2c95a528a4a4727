/* SPDX-License-Identifier: GPL-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "secrets.h"

#define HASH_BITS 12
#define PATTERNS  (3 * GT_SECRETS)

/** struct secret - one kind of thing of somebody's, of which more may be known */
struct secret {
	char who[16], kind[16];
};

/**
 * struct pattern - bytes that give a secret away
 * @word: neither a letter nor a digit may stand next to it; @number: in memory, at a multiple of 4
 * @next: with the same hash; 1 is the first
 */
struct pattern {
	char bytes[64];
	size_t len;
	unsigned int secret, next;
	bool word, number;
};

static struct secret secrets[GT_SECRETS];
static struct pattern patterns[PATTERNS + 1];
static unsigned int count, npatterns;
static unsigned int by_hash[1 << HASH_BITS]; /* of a pattern's first 4 bytes */

static unsigned int hash(const char *bytes)
{
	uint32_t v;

	memcpy(&v, bytes, sizeof(v));
	return v * 2654435761u >> (32 - HASH_BITS);
}

static int add(const void *bytes, size_t len, bool word, bool number)
{
	struct pattern *p = &patterns[npatterns + 1];

	if (len < 4 || len > sizeof(p->bytes) || npatterns == PATTERNS)
		return -EINVAL;
	memcpy(p->bytes, bytes, len);
	p->len = len;
	p->secret = count;
	p->word = word;
	p->number = number;
	p->next = by_hash[hash(p->bytes)];
	by_hash[hash(p->bytes)] = ++npatterns;
	return 0;
}

static int add_all(const char *text)
{
	char *end, hex[32];
	uint64_t value = strtoull(text, &end, 10);
	int ret = add(text, strlen(text), !*end, false);

	if (*end || ret)
		return ret;
	if (value >> 32) {
		snprintf(hex, sizeof(hex), "%llx", (unsigned long long)value);
		ret = add(hex, strlen(hex), true, false);
	}
	return ret ?: add(&value, value >> 32 ? 8 : 4, false, true);
}

int gt_secrets_read(const char *name)
{
	FILE *f = fopen(name, "re");
	char text[64];
	int ret = 0;

	if (!f)
		return -errno;
	for (; !ret && count < GT_SECRETS; count++) {
		struct secret *s = &secrets[count];

		if (fscanf(f, "%15s %15s %63s", s->who, s->kind, text) != 3)
			break;
		ret = add_all(text);
	}
	fclose(f);
	return ret;
}

static bool wordy(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_at(const struct pattern *p, const char *buf, size_t len, size_t i)
{
	if (len - i < p->len || memcmp(buf + i, p->bytes, p->len))
		return false;
	if (p->number)
		return i % 4 == 0;
	return !p->word ||
	       ((!i || !wordy(buf[i - 1])) && (i + p->len == len || !wordy(buf[i + p->len])));
}

static bool reported_before(unsigned int i, uint64_t found)
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

	for (size_t i = 0; i + 4 <= len; i++)
		for (unsigned int p = by_hash[hash(buf + i)]; p; p = patterns[p].next)
			if (is_at(&patterns[p], buf, len, i))
				found |= 1ULL << patterns[p].secret;
	snprintf(out, size, ".");
	for (unsigned int i = 0; i < count && at < size; i++)
		if ((found & 1ULL << i) && !reported_before(i, found))
			at += (size_t)snprintf(out + at, size - at, "%s%s:%s", at ? "," : "",
					       secrets[i].who, secrets[i].kind);
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * amdlog FILE N SEED: plays a log of AMD's runtime, and N copies of it that are cut or have random
 * bytes, lines joined, or lines cut short. None may crash or hang, and each line is of one kind.
 * With N 0 it plays the file once and says what it holds, as tests/lib/amdlogtruth.py does.
 */
#include "../lib/amdhost.h"
#include "../lib/fuzz.h"

static char *slurp(const char *path, size_t *len)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	char *text = NULL;

	if (fd >= 0 && !fstat(fd, &st) && (text = malloc((size_t)st.st_size + 1)) != NULL &&
	    read(fd, text, (size_t)st.st_size) != st.st_size) {
		free(text);
		text = NULL;
	}
	*len = text ? (size_t)st.st_size : 0;
	close(fd);
	return text;
}

/* Plays it; false: lines are of two kinds, or of none */
static bool play(const char *path, bool tell)
{
	struct ah *h = ah_new(path, true);
	struct gt_amd_counts n;
	char first[24] = "-";
	struct gt_amd *a;
	bool good;
	int ret = gt_amd_start(&h->p);

	if (ret) {
		if (tell)
			printf("refused: %s\n", h->error);
		ah_free(h);
		return true;
	}
	while (gt_amd_drain(&h->p) >= 0)
		;
	a = h->p.priv;
	n = a->file[0]->log.n;
	good = n.lines == n.used + n.other + n.foreign + n.untimed + n.damaged + n.too_long &&
	       !a->readers_failed;
	if (a->file[0]->log.filecount.first)
		snprintf(first, sizeof(first), "%llu",
			 (unsigned long long)a->file[0]->log.filecount.first);
	if (tell)
		printf("lines=%llu used=%llu other=%llu foreign=%llu untimed=%llu damaged=%llu "
		       "first_damaged=%s DISPATCH=%llu ERROR=%llu\n",
		       (unsigned long long)n.lines, (unsigned long long)n.used,
		       (unsigned long long)n.other, (unsigned long long)n.foreign,
		       (unsigned long long)n.untimed, (unsigned long long)n.damaged, first,
		       (unsigned long long)h->types[GT_DISPATCH],
		       (unsigned long long)h->types[GT_ERROR]);
	ah_free(h);
	return good;
}

static size_t damage(char *to, const char *from, size_t len)
{
	size_t n = len;

	memcpy(to, from, len);
	for (unsigned int i = 1 + (unsigned int)(rnd() % 20); i-- && n;)
		switch (rnd() % 5) {
		case 0:
			n = (size_t)(rnd() % n);
			break;
		case 1:
			to[rnd() % n] = (char)rnd();
			break;
		case 2: { /* a line without its end, or with one more */
			size_t at = (size_t)(rnd() % n);
			char *nl = memchr(to + at, '\n', n - at);

			if (nl)
				*nl = ' ';
			else
				to[rnd() % n] = '\n';
			break;
		}
		case 3:
			to[rnd() % n] = " :[]0x\0\r"[rnd() % 8];
			break;
		default: { /* bytes are missing */
			size_t at = (size_t)(rnd() % n), gap = (size_t)(rnd() % (n - at) % 200);

			memmove(to + at, to + at + gap, n - at - gap);
			n -= gap;
		}
		}
	return n;
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : -1, bad = 0;
	size_t len = 0;
	char *text = argc > 1 ? slurp(argv[1], &len) : NULL, *copy = malloc(len + 1);

	if (!text || !copy || n < 0 || argc < 4 || !ah_dir())
		return 2;
	if (!n)
		return !play(argv[1], true);
	fuzz_begin(argv[3]);
	for (int i = 0; i < n; i++) {
		size_t m = damage(copy, text, len);
		int fd = open(ah_name("log_1"), O_WRONLY | O_CREAT | O_TRUNC, 0600);

		snprintf(what, sizeof(what), "%.80s, damage %d", argv[1], i);
		alarm(LIMIT_S);
		if (fd < 0 || write(fd, copy, m) != (ssize_t)m)
			return 2;
		close(fd);
		if (!play(ah_name("log_1"), false)) {
			printf("%s: a line is not of one kind\n", what);
			bad++;
		}
	}
	free(copy);
	free(text);
	return bad != 0;
}

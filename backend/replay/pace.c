/* SPDX-License-Identifier: GPL-2.0 */
/* The pace of a replay: speed, pause, seek. */
#include "play.h"

#include <errno.h>
#include <string.h>

#define SPEED_MAX 1e6

int gt_pace_parse(struct gt_plugin *p, const char *text, double *speed)
{
	double v = 0, digit = 1;
	const char *c = text;

	/* By hand: strtod() takes names, exponents and the locale's comma. */
	for (; *c >= '0' && *c <= '9'; c++)
		v = v * 10 + (*c - '0');
	if (*c == '.')
		for (c++; *c >= '0' && *c <= '9'; c++)
			v += (*c - '0') * (digit /= 10);
	if (*c || c == text || !strcmp(text, ".") || v > SPEED_MAX)
		return p->host->error(
			p, EINVAL, "speed \"%.40s\" is not a number from 0 to 1000000, such as 0.5",
			text);
	*speed = v;
	return 0;
}

uint64_t gt_pace_position(const struct gt_replay *r)
{
	uint64_t pos;
	double ns;

	if (r->speed == 0 || !r->based || r->paused || r->seek)
		return r->pos;
	ns = (double)(r->p->host->now(r->p) - r->base_now) * r->speed;
	if (ns > 9e18 - (double)r->base_ts)
		return r->pos;
	pos = r->base_ts + (uint64_t)ns;
	for (unsigned int i = 0; i < r->n; i++)
		if (r->src[i].have && r->src[i].item.ts < pos)
			pos = r->src[i].item.ts;
	return pos > r->pos ? pos : r->pos;
}

uint64_t gt_pace_due(struct gt_replay *r, uint64_t ts)
{
	double ns;

	if (r->seek && ts >= r->seek) {
		if (r->pos < r->seek)
			r->pos = r->seek;
		r->seek = 0;
		r->based = false;
	}
	if (r->seek)
		return 0;
	if (r->paused)
		return GT_REPLAY_SLEEP;
	if (r->speed == 0)
		return 0;
	if (!r->based) {
		r->base_ts = r->pos ? r->pos : ts;
		r->base_now = r->p->host->now(r->p);
		r->based = true;
	}
	if (ts <= r->base_ts)
		return 0;
	ns = (double)(ts - r->base_ts) / r->speed - (double)(r->p->host->now(r->p) - r->base_now);
	if (ns < 1)
		return 0;
	return ns < GT_REPLAY_SLEEP ? (uint64_t)ns : GT_REPLAY_SLEEP;
}

int gt_replay_set(struct gt_plugin *p, const struct gt_option *o)
{
	const struct gt_replay_options *opt = p->options;
	struct gt_replay *r = p->priv;
	double speed;
	int ret;

	if (strcmp(o->name, "speed"))
		return -EOPNOTSUPP;
	ret = gt_pace_parse(p, opt->speed && *opt->speed ? opt->speed : "0", &speed);
	if (ret < 0 || !r)
		return ret;
	if (r->pos)
		r->pos = gt_pace_position(r);
	r->speed = speed;
	r->based = false;
	p->host->timer(p, 1);
	return 0;
}

static int seek(struct gt_replay *r, int64_t by)
{
	uint64_t pos = gt_pace_position(r);

	if (by < 0)
		return r->p->host->error(
			r->p, EOPNOTSUPP,
			"a replay goes forward only; mount it again to begin anew");
	if (__builtin_add_overflow(pos, (uint64_t)by, &r->seek))
		r->seek = GT_NONE64;
	r->p->host->timer(r->p, 1);
	return 0;
}

int gt_replay_control(struct gt_plugin *p, enum gt_control what, int64_t arg)
{
	struct gt_replay *r = p->priv;

	switch (what) {
	case GT_CTL_PAUSE:
		if (r->pos)
			r->pos = gt_pace_position(r);
		r->paused = true;
		p->host->timer(p, 0);
		return 0;
	case GT_CTL_RESUME:
		r->paused = false;
		r->based = false;
		p->host->timer(p, 1);
		return 0;
	case GT_CTL_SEEK:
		return seek(r, arg);
	case GT_CTL_LEVEL:
		r->level = arg > 2 ? (int)arg : 2; /* statistics need what records do */
		if (r->phase == GT_REPLAY_PLAYS)
			gt_replay_select(r);
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

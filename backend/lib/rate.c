/* SPDX-License-Identifier: GPL-2.0 */
#include "rate.h"

#define SEC  1000000000
#define BACK 16	   /* so many more of them: then time has gone back */
#define SURE 16384 /* at most so many more the other way: it may really have gone back */

/* What a full bucket holds. One token at least: without any nothing would ever come in. */
static int64_t full(const struct gt_rate *r)
{
	return (int64_t)(r->burst ? r->burst : 1) * SEC;
}

static int64_t unit(const struct gt_rate *r)
{
	return r->bucket ? SEC : 1;
}

static void start(struct gt_rate *r, bool bucket, uint64_t per_s, uint64_t burst)
{
	*r = (struct gt_rate){ .bucket = bucket, .per_s = per_s, .burst = burst };
	if (bucket)
		r->left = full(r);
}

void gt_rate_set(struct gt_rate *r, bool bucket, uint64_t per_s, uint64_t burst)
{
	if (bucket != r->bucket || per_s != r->per_s || burst != r->burst)
		start(r, bucket, per_s, burst);
}

void gt_rate_restart(struct gt_rate *r)
{
	start(r, r->bucket, r->per_s, r->burst);
}

/*
 * One reported time may be wrong, and far in the future: if most that comes since is long before
 * it, it was. The next one's time is that of the clock then. Records of another source that always
 * come late do not set it back as long as there are more that are on time: what is on time would be
 * given the same time, and its tokens, once more.
 */
static void follow(struct gt_rate *r, uint64_t now)
{
	uint64_t t = r->bucket ? now : now - now % SEC;

	if (t > r->at && t - r->at > SEC) {
		r->votes = 0; /* in doubt until others have that time, too */
	} else if (now >= r->at || r->at - now <= SEC) {
		r->votes += r->votes < SURE;
	} else if (--r->votes <= -BACK) {
		r->votes = 0;
		r->at = t;
	}
}

static void refill(struct gt_rate *r, uint64_t now)
{
	uint64_t room = (uint64_t)(full(r) - r->left), passed = now - r->at;

	if (!r->at || now <= r->at)
		passed = 0;
	if (passed > room / r->per_s)
		r->left = full(r);
	else
		r->left += (int64_t)(passed * r->per_s);
	if (now > r->at)
		r->at = now;
}

static void turn(struct gt_rate *r, uint64_t now)
{
	if (r->at && (now < r->at || now - r->at < SEC))
		return;
	r->at = now - now % SEC;
	r->left = (int64_t)r->per_s;
}

bool gt_rate_take(struct gt_rate *r, uint64_t now, unsigned int n)
{
	if (!r->per_s)
		return true;
	follow(r, now);
	if (r->bucket)
		refill(r, now);
	else
		turn(r, now);
	if (r->left < unit(r))
		return false;
	r->left -= (int64_t)n * unit(r);
	return true;
}

void gt_rate_more(struct gt_rate *r, unsigned int n)
{
	if (r->per_s)
		r->left -= (int64_t)n * unit(r);
}

void gt_rate_back(struct gt_rate *r, uint64_t since, unsigned int n)
{
	if (!r->per_s || (!r->bucket && since < r->at))
		return;
	r->left += (int64_t)n * unit(r);
	if (r->bucket && r->left > full(r))
		r->left = full(r);
}

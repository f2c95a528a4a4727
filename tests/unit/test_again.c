/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Files that are read while a recording is played again: the model begins anew after each of the
 * reader's looks at it, one look a read.
 */
#include <dlfcn.h>
#include <pthread.h>

#include "shown.h"

#define KERNELS 130 /* several looks of any reader */

static int looks = -1; /* until it begins anew; -1: it does not */

static void begin_anew(void)
{
	GT_MODEL_LOCK(app.model);
	gt_model_reset(app.model);
	gt_log_reset(app.log);
}

/* Whoever unlocks the model has looked at it */
int pthread_mutex_unlock(pthread_mutex_t *lock)
{
	static int (*unlock)(pthread_mutex_t *);
	int ret;

	if (!unlock)
		*(void **)&unlock = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	ret = unlock(lock);
	if (app.model && lock == &app.model->lock && looks >= 0 && !looks--)
		begin_anew();
	return ret;
}

static void make_kernels(void)
{
	struct gt_kernel_desc d;
	char name[16];
	GT_MODEL_LOCK(app.model);

	gt_kernel_init(&d);
	d.gpu = 0;
	d.uid = 1000;
	d.name = name;
	for (unsigned int i = 0; i < KERNELS; i++) {
		d.len = (size_t)snprintf(name, sizeof(name), "kernel%u", i);
		gt_model_counter(app.model, gt_model_kernel(app.model, &d), "SQ_WAVES", 1);
	}
}

/* It begins anew after look number @at; false: there are not so many */
static bool read_again(const struct gt_obj *o, const char *name, int at)
{
	setup(0);
	make_queue();
	make_events();
	make_kernels();
	looks = at;
	text(o, name, &user);
	at = looks;
	looks = -1;
	teardown();
	return at < 0;
}

static void test_file(const struct gt_obj *o, const char *name)
{
	int n = 0;

	while (read_again(o, name, n))
		n++;
	ok(n > 0, "%s is read while the model begins anew after any of %d looks", name, n);
}

static void test_files(const struct gt_obj *o)
{
	for (const struct gt_file *f = files_of(o); f->name; f++)
		/* report_stats is of the log alone */
		if (f->show && !(f->flags & GT_FILE_STATIC) && strcmp(f->name, "report_stats"))
			test_file(o, f->name);
}

int main(void)
{
	static const char *const of_root[] = { "metadata", "report", "timeline", "top",
					       "blame",	   "rings",  "gpus" };

	for (unsigned int i = 0; i < sizeof(of_root) / sizeof(of_root[0]); i++)
		test_file(&at_root, of_root[i]);
	test_files(&at_gpu);
	test_files(&at_gfx);
	test_files(&at_queue);
	test_files(&at_proc);
	text(NULL, NULL, NULL);
	return done_testing();
}

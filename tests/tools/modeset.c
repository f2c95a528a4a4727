/* SPDX-License-Identifier: GPL-2.0 */
/*
 * modeset: shows so many frames on a display controller, as a small compositor does.
 *
 *	modeset [--frames N] [--cursor] /dev/dri/cardN
 *
 * Two dumb buffers are drawn to in turn, reported dirty, and flipped to on the first connected display;
 * each flip is waited for. --cursor shows a cursor and moves it with each frame. What the driver
 * makes of that goes to its device, and so past its tracepoints; with virtio-gpu it takes neither a
 * GPU nor a display. Prints "shown N"; exit status 1 after a fault, 2: there is no display.
 */
#include <errno.h>
#include <fcntl.h>
#include <libdrm/drm.h>
#include <libdrm/drm_mode.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#define CURSOR 64
#define MODES  128

struct buffer {
	uint32_t handle, fb, pitch;
	uint64_t size;
	uint8_t *data;
};

static int card;

static __attribute__((noreturn)) void fail(const char *what)
{
	fprintf(stderr, "modeset: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void call(unsigned long request, void *arg, const char *what)
{
	while (ioctl(card, request, arg))
		if (errno != EINTR)
			fail(what);
}

/* The first connected display and its first mode; encoders are the driver's business. */
static uint32_t find_display(uint32_t *crtc, struct drm_mode_modeinfo *mode)
{
	static struct drm_mode_modeinfo modes[MODES];
	uint32_t crtcs[8], connectors[32];
	struct drm_mode_card_res res = {
		.crtc_id_ptr = (uintptr_t)crtcs,
		.count_crtcs = 8,
		.connector_id_ptr = (uintptr_t)connectors,
		.count_connectors = 32,
	};

	call(DRM_IOCTL_MODE_GETRESOURCES, &res, "resources");
	for (uint32_t i = 0; i < res.count_connectors && i < 32; i++) {
		struct drm_mode_get_connector c = { .connector_id = connectors[i] };

		/* asked for none, the kernel looks at what is plugged in */
		call(DRM_IOCTL_MODE_GETCONNECTOR, &c, "connector");
		if (c.connection != 1 || !c.count_modes || c.count_modes > MODES)
			continue;
		c.modes_ptr = (uintptr_t)modes;
		c.count_props = c.count_encoders = 0;
		call(DRM_IOCTL_MODE_GETCONNECTOR, &c, "modes");
		*crtc = crtcs[0];
		*mode = modes[0];
		return connectors[i];
	}
	fprintf(stderr, "modeset: no display is connected\n");
	exit(2);
}

static struct buffer make_buffer(uint32_t width, uint32_t height)
{
	struct drm_mode_create_dumb dumb = { .width = width, .height = height, .bpp = 32 };
	struct drm_mode_map_dumb map = { 0 };
	struct buffer b;

	call(DRM_IOCTL_MODE_CREATE_DUMB, &dumb, "dumb buffer");
	map.handle = dumb.handle;
	call(DRM_IOCTL_MODE_MAP_DUMB, &map, "map");
	b = (struct buffer){ .handle = dumb.handle, .pitch = dumb.pitch, .size = dumb.size };
	b.data = mmap(NULL, b.size, PROT_READ | PROT_WRITE, MAP_SHARED, card, (off_t)map.offset);
	if (b.data == MAP_FAILED)
		fail("mmap");
	return b;
}

static void make_frame(struct buffer *b, const struct drm_mode_modeinfo *mode)
{
	struct drm_mode_fb_cmd fb = {
		.width = mode->hdisplay,
		.height = mode->vdisplay,
		.bpp = 32,
		.depth = 24,
	};

	*b = make_buffer(mode->hdisplay, mode->vdisplay);
	fb.pitch = b->pitch;
	fb.handle = b->handle;
	call(DRM_IOCTL_MODE_ADDFB, &fb, "frame buffer");
	b->fb = fb.fb_id;
}

static void set_mode(uint32_t crtc, uint32_t connector, const struct drm_mode_modeinfo *mode,
		     uint32_t fb)
{
	struct drm_mode_crtc c = {
		.crtc_id = crtc,
		.set_connectors_ptr = (uintptr_t)&connector,
		.count_connectors = 1,
		.fb_id = fb,
		.mode_valid = 1,
		.mode = *mode,
	};

	call(DRM_IOCTL_MODE_SETCRTC, &c, "mode");
}

static void show(struct buffer *b, uint32_t crtc, const struct drm_mode_modeinfo *mode, int value)
{
	struct drm_clip_rect clip = { 0, 0, mode->hdisplay, mode->vdisplay };
	struct drm_mode_fb_dirty_cmd dirty = {
		.fb_id = b->fb,
		.num_clips = 1,
		.clips_ptr = (uintptr_t)&clip,
	};
	struct drm_mode_crtc_page_flip flip = {
		.crtc_id = crtc,
		.fb_id = b->fb,
		.flags = DRM_MODE_PAGE_FLIP_EVENT,
	};
	char event[256];

	memset(b->data, value, b->size);
	call(DRM_IOCTL_MODE_DIRTYFB, &dirty, "dirty");
	call(DRM_IOCTL_MODE_PAGE_FLIP, &flip, "flip");
	if (read(card, event, sizeof(event)) < (ssize_t)sizeof(struct drm_event))
		fail("the flip's event");
}

static void cursor(uint32_t crtc, uint32_t handle, int at)
{
	struct drm_mode_cursor c = {
		.flags = handle ? DRM_MODE_CURSOR_BO : DRM_MODE_CURSOR_MOVE,
		.crtc_id = crtc,
		.x = at,
		.y = at,
		.width = CURSOR,
		.height = CURSOR,
		.handle = handle,
	};

	call(DRM_IOCTL_MODE_CURSOR, &c, "cursor");
}

int main(int argc, char **argv)
{
	struct drm_mode_modeinfo mode;
	struct buffer frame[2];
	uint32_t crtc, connector;
	bool with_cursor = false;
	int frames = 10, i;

	for (i = 1; i < argc - 1; i++) {
		if (!strcmp(argv[i], "--cursor"))
			with_cursor = true;
		else if (!strcmp(argv[i], "--frames"))
			frames = atoi(argv[++i]);
	}
	card = i < argc ? open(argv[i], O_RDWR | O_CLOEXEC) : -1;
	if (card < 0)
		fail(i < argc ? argv[i] : "usage: modeset [--frames N] [--cursor] /dev/dri/cardN");
	connector = find_display(&crtc, &mode);
	for (int f = 0; f < 2; f++)
		make_frame(&frame[f], &mode);
	set_mode(crtc, connector, &mode, frame[0].fb);
	if (with_cursor)
		cursor(crtc, make_buffer(CURSOR, CURSOR).handle, 0);
	for (int f = 1; f <= frames; f++) {
		show(&frame[f & 1], crtc, &mode, f);
		if (with_cursor)
			cursor(crtc, 0, f);
	}
	printf("shown %d\n", frames);
	return 0;
}

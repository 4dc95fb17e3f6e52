/* Reads samples from a microphone, and plays a tone for it, with the kernel's ALSA interface. */

#include "capture.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sound/asound.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

enum { RATE = 48000, CHANNELS = 2, FRAMES = 4800 };

static void set_mask(struct snd_pcm_hw_params *params, int which, int bit)
{
	struct snd_mask *mask = &params->masks[which - SNDRV_PCM_HW_PARAM_FIRST_MASK];

	memset(mask, 0, sizeof *mask);
	mask->bits[bit / 32] = 1u << bit % 32;
}

static void set_number(struct snd_pcm_hw_params *params, int which, unsigned number)
{
	struct snd_interval *interval = &params->intervals[which - SNDRV_PCM_HW_PARAM_FIRST_INTERVAL];

	*interval = (struct snd_interval){ .min = number, .max = number, .integer = 1 };
}

/* Sixteen bits, two channels, 48 kHz; all other parameters are the driver's choice. */
static int prepare(int fd)
{
	struct snd_pcm_hw_params params = { .rmask = ~0u, .info = ~0u };

	memset(params.masks, 0xff, sizeof params.masks);
	for (unsigned i = 0; i < sizeof params.intervals / sizeof *params.intervals; i++)
		params.intervals[i].max = ~0u;
	set_mask(&params, SNDRV_PCM_HW_PARAM_ACCESS, SNDRV_PCM_ACCESS_RW_INTERLEAVED);
	set_mask(&params, SNDRV_PCM_HW_PARAM_FORMAT, SNDRV_PCM_FORMAT_S16_LE);
	set_number(&params, SNDRV_PCM_HW_PARAM_CHANNELS, CHANNELS);
	set_number(&params, SNDRV_PCM_HW_PARAM_RATE, RATE);
	if (ioctl(fd, SNDRV_PCM_IOCTL_HW_PARAMS, &params) || ioctl(fd, SNDRV_PCM_IOCTL_PREPARE)) {
		perror("cannot set up the sound device");
		return 1;
	}
	return 0;
}

/* Reads or writes one block; after an overrun or underrun, tries again. */
static int transfer(int fd, unsigned long request, short *samples, int events)
{
	struct snd_xferi block = { .buf = samples, .frames = FRAMES };
	struct pollfd ready = { .fd = fd, .events = events };

	while (ioctl(fd, request, &block)) {
		if (errno == EPIPE && ioctl(fd, SNDRV_PCM_IOCTL_PREPARE) == 0)
			continue;
		if (errno == EAGAIN && !(fcntl(fd, F_GETFL) & O_NONBLOCK)) {
			fputs("the descriptor should block but returned EAGAIN\n", stderr);
			return 1;
		}
		if (errno != EAGAIN || poll(&ready, 1, 30000) != 1) {
			perror("no samples");
			return 1;
		}
	}
	return 0;
}

int capture_samples(int fd)
{
	static short samples[FRAMES * CHANNELS];
	int loudest = 0;

	if (prepare(fd))
		return 1;
	/* The first blocks may precede the tone. */
	for (int block = 0; block < 20 && loudest < 1000; block++) {
		memset(samples, 0, sizeof samples);
		if (transfer(fd, SNDRV_PCM_IOCTL_READI_FRAMES, samples, POLLIN))
			return 1;
		for (int i = 0; i < FRAMES * CHANNELS; i++)
			if (abs(samples[i]) > loudest)
				loudest = abs(samples[i]);
	}
	printf("samples, the loudest %d\n", loudest);
	return loudest >= 1000 ? 0 : 1;
}

int play_tone(const char *node)
{
	static short samples[FRAMES * CHANNELS];
	int fd = open(node, O_WRONLY | O_CLOEXEC);

	if (fd < 0) {
		perror(node);
		return 1;
	}
	for (int i = 0; i < FRAMES * CHANNELS; i++)
		samples[i] = i / 100 % 2 ? 8000 : -8000;
	if (prepare(fd))
		return 1;
	puts("playing");
	fflush(stdout);
	while (transfer(fd, SNDRV_PCM_IOCTL_WRITEI_FRAMES, samples, POLLOUT) == 0)
		continue;
	return 1;
}

/* player COUNT: connects so many clients that play to PipeWire, one after the other, and keeps them connected. For each
 * it prints how many microseconds passed until its stream was linked and ready. Ends when standard input is closed. */

#include <pipewire/pipewire.h>
#include <spa/param/audio/format-utils.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

struct player {
	struct pw_main_loop *loop;
	struct pw_stream *stream;
	long start;
	int report;
};

static long microseconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

static void state_changed(void *data, enum pw_stream_state old, enum pw_stream_state state, const char *error)
{
	struct player *player = data;
	char line[32];

	(void)old;
	if (state == PW_STREAM_STATE_ERROR) {
		fprintf(stderr, "player: %s\n", error);
		exit(1);
	}
	/* The stream is inactive, so it is not run when it has been linked. */
	if (state == PW_STREAM_STATE_PAUSED && player->report >= 0) {
		int length = snprintf(line, sizeof line, "%ld\n", microseconds() - player->start);

		if (write(player->report, line, length) != length)
			exit(1);
		close(player->report);
		player->report = -1;
	}
}

static const struct pw_stream_events events = {
	PW_VERSION_STREAM_EVENTS,
	.state_changed = state_changed,
};

/* Does not return. */
static void play(int report)
{
	struct player player = { .report = report };
	uint8_t buffer[1024];
	struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(buffer, sizeof buffer);
	const struct spa_pod *formats[1];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	player.start = microseconds();
	pw_init(NULL, NULL);
	player.loop = pw_main_loop_new(NULL);
	player.stream = pw_stream_new_simple(pw_main_loop_get_loop(player.loop), "player",
		pw_properties_new(PW_KEY_MEDIA_TYPE, "Audio", PW_KEY_MEDIA_CATEGORY, "Playback", NULL), &events, &player);
	formats[0] = spa_format_audio_raw_build(&builder, SPA_PARAM_EnumFormat,
		&SPA_AUDIO_INFO_RAW_INIT(.format = SPA_AUDIO_FORMAT_F32, .channels = 2, .rate = 48000));
	if (!player.stream || pw_stream_connect(player.stream, PW_DIRECTION_OUTPUT, PW_ID_ANY,
			PW_STREAM_FLAG_AUTOCONNECT | PW_STREAM_FLAG_INACTIVE | PW_STREAM_FLAG_MAP_BUFFERS, formats, 1) < 0) {
		perror("player");
		exit(1);
	}
	pw_main_loop_run(player.loop);
	exit(1);
}

int main(int count, char **words)
{
	int wanted = count == 2 ? atoi(words[1]) : 0;

	for (int i = 0; i < wanted; i++) {
		char line[32];
		int ends[2];
		ssize_t length;

		if (pipe(ends))
			return 1;
		switch (fork()) {
		case -1:
			return 1;
		case 0:
			close(ends[0]);
			play(ends[1]);
		}
		close(ends[1]);
		length = read(ends[0], line, sizeof line);
		if (length <= 0 || fwrite(line, 1, length, stdout) != (size_t)length)
			return 1;
		fflush(stdout);
		close(ends[0]);
	}
	while (getchar() != EOF)
		;
	return 0;
}

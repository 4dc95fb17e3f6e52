/* Takes images from a camera in ways that programs do to which it was not granted, for the steps about the guard.
 *
 *   take-images NODE WAY…   does these in their order, and prints a line for each; NODE may be a descriptor, as fd:3:
 *     open        opens it
 *     begin       sets up two buffers and begins a stream
 *     images      takes three images of the stream
 *     map         maps the first buffer, whoever set it up
 *     export      exports the first buffer as a descriptor
 *     read        reads an image like a file
 *     child WAY   a child process does that
 *     as PROGRAM WAY   another program, which gets the descriptor, does that
 *     until WAY   does that until it fails
 *     line        waits for a line of input
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static int camera = -1;

static void say(const char *way, int result)
{
	printf("%s: %s\n", way, result < 0 ? strerror(errno) : "done");
}

static struct v4l2_buffer buffer_of(unsigned index)
{
	return (struct v4l2_buffer){
		.index = index, .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .memory = V4L2_MEMORY_MMAP };
}

static int begin(void)
{
	int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
	struct v4l2_requestbuffers request = { .count = 2, .type = type, .memory = V4L2_MEMORY_MMAP };

	if (ioctl(camera, VIDIOC_REQBUFS, &request))
		return -1;
	for (unsigned index = 0; index < request.count; index++) {
		struct v4l2_buffer buffer = buffer_of(index);

		if (ioctl(camera, VIDIOC_QBUF, &buffer))
			return -1;
	}
	return ioctl(camera, VIDIOC_STREAMON, &type);
}

static int take_image(void)
{
	struct pollfd ready = { .fd = camera, .events = POLLIN };
	struct v4l2_buffer buffer = buffer_of(0);

	if (poll(&ready, 1, 30000) < 0 || ioctl(camera, VIDIOC_DQBUF, &buffer))
		return -1;
	return ioctl(camera, VIDIOC_QBUF, &buffer);
}

static int take_images(void)
{
	for (int i = 0; i < 3; i++)
		if (take_image())
			return -1;
	return 0;
}

/* Of the first buffer, as memory of the driver begins with it; drivers may tell others nothing of it. */
static int map(void)
{
	void *memory = mmap(NULL, 4096, PROT_READ, MAP_SHARED, camera, 0);

	return memory == MAP_FAILED ? -1 : munmap(memory, 4096);
}

static int export(void)
{
	struct v4l2_exportbuffer request = { .type = V4L2_BUF_TYPE_VIDEO_CAPTURE, .flags = O_CLOEXEC };

	return ioctl(camera, VIDIOC_EXPBUF, &request) ? -1 : close(request.fd);
}

static int read_image(void)
{
	static char image[1 << 20];
	struct pollfd ready = { .fd = camera, .events = POLLIN };
	ssize_t count;

	do {
		count = read(camera, image, sizeof(image));
	} while (count < 0 && errno == EAGAIN && poll(&ready, 1, 30000) > 0);
	return count > 0 ? 0 : -1;
}

static int do_way(const char *way, const char *node)
{
	if (!strcmp(way, "open"))
		return camera = open(node, O_RDWR | O_NONBLOCK);
	if (!strcmp(way, "begin"))
		return begin();
	if (!strcmp(way, "images"))
		return take_images();
	if (!strcmp(way, "map"))
		return map();
	if (!strcmp(way, "export"))
		return export();
	if (!strcmp(way, "read"))
		return read_image();
	exit(64);
}

static void do_in_child(const char *program, const char *way)
{
	char descriptor[16];

	if (fork() == 0) {
		if (program) {
			snprintf(descriptor, sizeof(descriptor), "fd:%d", camera);
			execl(program, program, descriptor, way, NULL);
			_exit(127);
		}
		printf("child: ");
		say(way, do_way(way, ""));
		_exit(0);
	}
	wait(NULL);
}

int main(int count, char **words)
{
	char line[16];

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (count < 3)
		return 64;
	if (!strncmp(words[1], "fd:", 3))
		camera = atoi(words[1] + 3);
	for (int i = 2; i < count; i++) {
		if (!strcmp(words[i], "child") && i + 1 < count) {
			do_in_child(NULL, words[++i]);
		} else if (!strcmp(words[i], "as") && i + 2 < count) {
			do_in_child(words[i + 1], words[i + 2]);
			i += 2;
		} else if (!strcmp(words[i], "until") && i + 1 < count) {
			int result;

			do
				result = do_way(words[i + 1], words[1]);
			while (result >= 0);
			say(words[++i], result);
		} else if (!strcmp(words[i], "line")) {
			fgets(line, sizeof(line), stdin);
		} else {
			say(words[i], do_way(words[i], words[1]));
		}
	}
	return 0;
}

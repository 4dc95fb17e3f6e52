/* Captures a frame from a camera through mapped memory, as applications do. */

#include "capture.h"

#include <linux/videodev2.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

static int failed(const char *what)
{
	perror(what);
	return 1;
}

static int start_streaming(int fd, struct v4l2_buffer *buffer, unsigned char **memory)
{
	int type = V4L2_BUF_TYPE_VIDEO_CAPTURE;
	struct v4l2_requestbuffers request = { .count = 1, .type = type, .memory = V4L2_MEMORY_MMAP };

	if (ioctl(fd, VIDIOC_REQBUFS, &request))
		return failed("VIDIOC_REQBUFS");
	*buffer = (struct v4l2_buffer){ .type = type, .memory = V4L2_MEMORY_MMAP };
	if (ioctl(fd, VIDIOC_QUERYBUF, buffer))
		return failed("VIDIOC_QUERYBUF");
	*memory = mmap(NULL, buffer->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, buffer->m.offset);
	if (*memory == MAP_FAILED)
		return failed("mmap");
	memset(*memory, 0, buffer->length);
	if (ioctl(fd, VIDIOC_QBUF, buffer))
		return failed("VIDIOC_QBUF");
	return ioctl(fd, VIDIOC_STREAMON, &type) ? failed("VIDIOC_STREAMON") : 0;
}

int capture_frame(int fd)
{
	struct v4l2_format format = { .type = V4L2_BUF_TYPE_VIDEO_CAPTURE };
	struct v4l2_buffer buffer;
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	unsigned char *memory;
	int values[256] = { 0 };
	int different = 0;

	if (ioctl(fd, VIDIOC_G_FMT, &format))
		return failed("VIDIOC_G_FMT");
	if (start_streaming(fd, &buffer, &memory))
		return 1;
	if (poll(&ready, 1, 30000) != 1)
		return failed("no frame within 30 seconds");
	if (ioctl(fd, VIDIOC_DQBUF, &buffer))
		return failed("VIDIOC_DQBUF");
	for (unsigned i = 0; i < buffer.bytesused; i++)
		different += values[memory[i]]++ == 0;
	printf("frame of %ux%u, %u bytes, %d different values\n", format.fmt.pix.width, format.fmt.pix.height,
	       buffer.bytesused, different);
	return buffer.bytesused > 0 && different > 1 ? 0 : 1;
}

/* Reads a sentence from a satellite receiver. */

#include "capture.h"

#include <poll.h>
#include <stdio.h>
#include <unistd.h>

int capture_sentence(int fd)
{
	char line[128];
	size_t length = 0;
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	while (length < sizeof line - 1 && (length == 0 || line[length - 1] != '\n')) {
		if (poll(&ready, 1, 30000) != 1 || read(fd, line + length, 1) != 1) {
			perror("no sentence");
			return 1;
		}
		length++;
	}
	line[length] = 0;
	printf("sentence %s", line);
	return line[0] == '$' ? 0 : 1;
}

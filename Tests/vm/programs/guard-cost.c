/* Measures what the guard costs, for Tests/vm/figures.
 *
 *   guard-cost costs NODE   prints nanoseconds: open and close of the node, open and close of another file, stat(2) of
 *                           the node, and on another file an ioctl that does nothing, a read and a mapping; each the
 *                           median of 9 batches
 *   guard-cost first NODE   prints milliseconds until the first open of the node returns
 *   guard-cost gap NODE     prints the longest pause of another thread in milliseconds while the node is opened
 */

#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BATCHES = 9 };

static const char *node;
static int null, zero;
static atomic_int has_opened;

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

static void open_and_close(const char *path)
{
	int fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0) {
		perror(path);
		exit(1);
	}
	close(fd);
}

static void open_node(void) { open_and_close(node); }
static void open_other(void) { open_and_close("/dev/null"); }
static void ask_for_status(void) { struct stat status; stat(node, &status); }
static void do_nothing(void) { ioctl(null, 0x5401, 0); }

static void read_other(void)
{
	char byte;

	if (read(zero, &byte, 1) != 1)
		exit(1);
}

static void map_other(void)
{
	void *memory = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, zero, 0);

	if (memory == MAP_FAILED || munmap(memory, 4096))
		exit(1);
}

static int compare(const void *a, const void *b)
{
	double difference = *(const double *)a - *(const double *)b;

	return difference < 0 ? -1 : difference > 0;
}

static void measure(const char *name, void (*body)(void), int rounds)
{
	double times[BATCHES];

	for (int batch = 0; batch < BATCHES; batch++) {
		double start = now();

		for (int round = 0; round < rounds; round++)
			body();
		times[batch] = (now() - start) / rounds;
	}
	qsort(times, BATCHES, sizeof *times, compare);
	printf("%s %.0f\n", name, times[BATCHES / 2]);
}

static void *open_in_thread(void *unused)
{
	(void)unused;
	open_node();
	has_opened = 1;
	return NULL;
}

static void gap(void)
{
	pthread_t thread;
	double last = now(), longest = 0;

	pthread_create(&thread, NULL, open_in_thread, NULL);
	while (!has_opened) {
		double time;

		usleep(1000);
		time = now();
		if (time - last > longest)
			longest = time - last;
		last = time;
	}
	pthread_join(thread, NULL);
	printf("%.1f\n", longest / 1e6);
}

int main(int count, char **words)
{
	double start;

	if (count != 3)
		return 64;
	node = words[2];
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	zero = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	start = now();
	if (strcmp(words[1], "gap") == 0) {
		gap();
		return 0;
	}
	open_node();
	if (strcmp(words[1], "first") == 0) {
		printf("%.3f\n", (now() - start) / 1e6);
		return 0;
	}
	measure("open", open_node, 200);
	measure("other", open_other, 2000);
	measure("stat", ask_for_status, 2000);
	measure("ioctl", do_nothing, 5000);
	measure("read", read_other, 5000);
	measure("map", map_other, 2000);
	return 0;
}

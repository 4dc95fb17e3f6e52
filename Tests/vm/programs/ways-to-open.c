/* Opens a device node in other ways than most programs, for the steps about the guard.
 *
 *   ways-to-open NODE WAY…   does these in their order, and prints a line for each:
 *     open      opens it, and closes it again
 *     keep      opens it
 *     look      stat(2) and access(2)
 *     openat2   opens it with openat2(2)
 *     again     opens it by /proc/self/fd of a descriptor that gives no access (O_PATH)
 *     uring     opens it with io_uring
 *     later     opens it with io_uring, at the end of another call
 *     storm     ten threads try to open it ten times each
 *     threads   ten threads open it at the same time, while another counts
 *     beside    a thread opens it, for which the process does not wait
 *     handlers  opens it with handlers of SIGALRM, which comes ten times a second, SIGCONT and SIGCHLD
 *     child     a child process opens it
 *     loads     a thread begins to load the program $LOADED
 *     line      waits for a line of input
 */

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <linux/openat2.h>
#include <linux/time_types.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *node;
static atomic_int ended, counted;
static volatile sig_atomic_t handled;

static void say(const char *way, int fd)
{
	printf("%s: %s\n", way, fd < 0 ? strerror(errno) : "opened");
}

static int open_node(void)
{
	return open(node, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

static void open_and_close(const char *way, int fd)
{
	say(way, fd);
	if (fd >= 0)
		close(fd);
}

static void look(void)
{
	struct stat status;

	printf("look: %s\n", stat(node, &status) || access(node, R_OK | W_OK) ? strerror(errno) : "seen");
}

static int open_with_openat2(void)
{
	struct open_how how = { .flags = O_RDWR | O_NONBLOCK | O_CLOEXEC };

	return syscall(SYS_openat2, AT_FDCWD, node, &how, sizeof(how));
}

static int open_again(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", open(node, O_PATH | O_CLOEXEC));
	return open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
}

/* Returns the descriptor, or -1 with errno. With `later`, the open follows a timeout, and the call that this ends runs it. */
static int open_with_uring(int later)
{
	struct io_uring_params setup = { 0 };
	struct __kernel_timespec moment = { .tv_nsec = 100000000 };
	int ring = syscall(SYS_io_uring_setup, 2, &setup), count = later ? 2 : 1;
	struct pollfd done = { .fd = ring, .events = POLLIN };
	struct io_uring_sqe *entries;
	struct io_uring_cqe *results;
	char *queue, *completed;

	if (ring < 0)
		return -1;
	queue = mmap(NULL, setup.sq_off.array + 2 * sizeof(unsigned), PROT_READ | PROT_WRITE, MAP_SHARED, ring,
		     IORING_OFF_SQ_RING);
	completed = mmap(NULL, setup.cq_off.cqes + setup.cq_entries * sizeof(*results), PROT_READ | PROT_WRITE,
			 MAP_SHARED, ring, IORING_OFF_CQ_RING);
	entries = mmap(NULL, 2 * sizeof(*entries), PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	if (queue == MAP_FAILED || completed == MAP_FAILED || entries == MAP_FAILED)
		return -1;
	entries[0] = (struct io_uring_sqe){ .opcode = IORING_OP_TIMEOUT, .fd = -1, .addr = (uintptr_t)&moment, .len = 1,
					    .timeout_flags = IORING_TIMEOUT_ETIME_SUCCESS, .flags = IOSQE_IO_LINK };
	entries[count - 1] = (struct io_uring_sqe){ .opcode = IORING_OP_OPENAT, .fd = AT_FDCWD, .addr = (uintptr_t)node,
						    .open_flags = O_RDWR | O_CLOEXEC };
	for (int i = 0; i < count; i++)
		((unsigned *)(queue + setup.sq_off.array))[i] = i;
	__atomic_store_n((unsigned *)(queue + setup.sq_off.tail), count, __ATOMIC_RELEASE);
	if (syscall(SYS_io_uring_enter, ring, count, later ? 0 : 1, later ? 0 : IORING_ENTER_GETEVENTS, NULL, 0) < 0)
		return -1;
	results = (struct io_uring_cqe *)(completed + setup.cq_off.cqes);
	while (__atomic_load_n((unsigned *)(completed + setup.cq_off.tail), __ATOMIC_ACQUIRE) < (unsigned)count)
		poll(&done, 1, 100);
	close(ring);
	if (results[count - 1].res >= 0)
		return results[count - 1].res;
	errno = -results[count - 1].res;
	return -1;
}

static void *count_up(void *unused)
{
	while (!ended) {
		usleep(1000);
		counted++;
	}
	return unused;
}

static void *open_in_thread(void *unused)
{
	int fd = open_node();

	open_and_close("thread", fd);
	return unused;
}

/* Says that it goes on once the counting thread has run for a while beside those that open. */
static void open_in_threads(void)
{
	pthread_t counter, threads[10];

	pthread_create(&counter, NULL, count_up, NULL);
	for (int i = 0; i < 10; i++)
		pthread_create(&threads[i], NULL, open_in_thread, NULL);
	for (int before = counted; counted < before + 100;)
		usleep(1000);
	puts("threads: the process goes on");
	for (int i = 0; i < 10; i++)
		pthread_join(threads[i], NULL);
	ended = 1;
	pthread_join(counter, NULL);
}

static void *try_often(void *unused)
{
	for (int i = 0; i < 10; i++) {
		int fd = open_node();

		if (fd >= 0)
			close(fd);
		/* Busy is what the driver says. */
		if (fd >= 0 || errno == EBUSY)
			counted++;
	}
	return unused;
}

static void storm(void)
{
	pthread_t threads[10];

	for (int i = 0; i < 10; i++)
		pthread_create(&threads[i], NULL, try_often, NULL);
	for (int i = 0; i < 10; i++)
		pthread_join(threads[i], NULL);
	printf("storm: %d of 100 passed\n", counted);
}

static void count_alarm(int signal)
{
	handled += signal == SIGALRM;
}

static void open_with_handlers(void)
{
	struct sigaction action = { .sa_handler = count_alarm, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 100000 }, { 0, 100000 } }, never = { 0 };

	sigaction(SIGALRM, &action, NULL);
	sigaction(SIGCONT, &action, NULL);
	sigaction(SIGCHLD, &action, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	int fd = open_node();
	open_and_close("handlers", fd);
	setitimer(ITIMER_REAL, &never, NULL);
	printf("handlers: %s\n", handled ? "they ran" : "none ran");
}

static void open_in_child(void)
{
	if (fork() == 0) {
		open_and_close("child", open_node());
		_exit(0);
	}
	wait(NULL);
}

static void *load(void *program)
{
	char *words[] = { program, NULL };

	execv(program, words);
	return NULL;
}

int main(int count, char **words)
{
	char line[16];
	pthread_t thread;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (count < 3)
		return 64;
	node = words[1];
	for (int i = 2; i < count; i++) {
		const char *way = words[i];

		if (!strcmp(way, "open"))
			open_and_close(way, open_node());
		else if (!strcmp(way, "keep"))
			say(way, open_node());
		else if (!strcmp(way, "look"))
			look();
		else if (!strcmp(way, "openat2"))
			open_and_close(way, open_with_openat2());
		else if (!strcmp(way, "again"))
			open_and_close(way, open_again());
		else if (!strcmp(way, "uring"))
			open_and_close(way, open_with_uring(0));
		else if (!strcmp(way, "later"))
			open_and_close(way, open_with_uring(1));
		else if (!strcmp(way, "storm"))
			storm();
		else if (!strcmp(way, "threads"))
			open_in_threads();
		else if (!strcmp(way, "beside"))
			pthread_create(&thread, NULL, open_in_thread, NULL);
		else if (!strcmp(way, "handlers"))
			open_with_handlers();
		else if (!strcmp(way, "child"))
			open_in_child();
		else if (!strcmp(way, "loads"))
			pthread_create(&thread, NULL, load, getenv("LOADED"));
		else if (!strcmp(way, "line"))
			fgets(line, sizeof(line), stdin);
		else
			return 64;
	}
	return 0;
}

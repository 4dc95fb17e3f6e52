// libbpf, ptrace(2), which is variadic, and what permd-guard shares with its BPF programs.
#ifndef CGUARD_SHIM_H
#define CGUARD_SHIM_H
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../../bpf/guard.h"

enum {
    // Nanoseconds between two looks at whether the kernel waits before it attaches to a thread. It does while another thread
    // of the process loads a program, for as long as the file system of the program likes.
    CGUARD_PAUSE = 500000,
    // Looks after which it is given up all the same: that other thread may keep a processor busy instead.
    CGUARD_LOOKS = 20,
    // This thread may have waited for something else, as its own pages.
    CGUARD_TRIES = 2,
    CGUARD_OF_THREAD = 1, // RUSAGE_THREAD of getrusage(2), which glibc declares for _GNU_SOURCE only
};

struct cguard_attempt {
    timer_t timer;
    int has_timer;
    volatile sig_atomic_t is_attaching, looks;
    // How often this thread had waited when the attempt began.
    long waits;
    sigjmp_buf way_out;
};
static inline struct cguard_attempt *cguard_attempt(void) {
    static struct cguard_attempt attempt;
    return &attempt;
}
static inline long cguard_waits(void) {
    struct rusage usage;
    return getrusage(CGUARD_OF_THREAD, &usage) ? -1 : usage.ru_nvcsw;
}
// The kernel makes the call again after a handler that returns (ERESTARTNOINTR). A thread that has had no processor
// meanwhile, on a busy machine, has not waited.
static inline void cguard_look(int signal) {
    (void)signal;
    struct cguard_attempt *attempt = cguard_attempt();
    if (!attempt->is_attaching) return;
    if (++attempt->looks == CGUARD_LOOKS || cguard_waits() != attempt->waits) siglongjmp(attempt->way_out, 1);
}

// A timer that sends this thread SIGALRM. Returns 0, or -1 and sets errno.
static inline int cguard_make_timer(timer_t *timer) {
    struct sigaction action = {.sa_handler = cguard_look};
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
    event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    if (pthread_sigmask(SIG_UNBLOCK, &alarms, 0) || sigaction(SIGALRM, &action, 0)) return -1;
    return timer_create(CLOCK_MONOTONIC, &event, timer);
}

// Attaches to a thread, without a SIGSTOP that others could see, and stops it before it returns to its program. To be called
// by one thread only. Returns 0, or -1 and sets errno: that of ptrace(2), or EBUSY if the kernel would wait for another
// thread of the process.
static inline int cguard_claim(pid_t thread) {
    struct cguard_attempt *attempt = cguard_attempt();
    if (!attempt->has_timer && cguard_make_timer(&attempt->timer)) return -1;
    attempt->has_timer = 1;
    for (volatile int tries = 0; tries < CGUARD_TRIES; tries++) {
        const struct timespec look = {.tv_nsec = CGUARD_PAUSE};
        const struct itimerspec looks = {.it_value = look, .it_interval = look}, none = {{0}};
        volatile int code = EBUSY;
        if (!sigsetjmp(attempt->way_out, 1)) {
            attempt->looks = 0;
            attempt->waits = cguard_waits();
            attempt->is_attaching = 1;
            timer_settime(attempt->timer, 0, &looks, 0);
            code = ptrace(PTRACE_SEIZE, thread, 0, 0) ? errno : ESRCH;
        }
        attempt->is_attaching = 0;
        timer_settime(attempt->timer, 0, &none, 0);
        // It may have been attached to when it was given up.
        if (!ptrace(PTRACE_INTERRUPT, thread, 0, 0)) return 0;
        errno = code;
        if (code != EBUSY || attempt->looks == CGUARD_LOOKS) return -1;
    }
    return -1;
}
// Lets a stopped thread go on, with a signal if that is not 0.
static inline int cguard_detach(pid_t thread, int signal) {
    return (int)ptrace(PTRACE_DETACH, thread, 0, (void *)(long)signal);
}
// The thread whose state has changed, in `status` as waitpid(2) has it; 0 if there is none.
static inline pid_t cguard_changed(int *status) { return waitpid(-1, status, WNOHANG | __WALL); }
// Of a status: whether the thread has stopped, and with which signal it goes on; 0 unless it was about to get one.
static inline int cguard_has_stopped(int status) { return WIFSTOPPED(status); }
static inline int cguard_signal(int status) { return status >> 16 ? 0 : WSTOPSIG(status); }

static const long CGUARD_BPF_FS = 0xcafe4a11; // BPF_FS_MAGIC of linux/magic.h
#endif

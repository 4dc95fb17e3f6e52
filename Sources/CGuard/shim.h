// libbpf, ptrace(2), which is variadic, and what permd-guard shares with its BPF programs.
#ifndef CGUARD_SHIM_H
#define CGUARD_SHIM_H
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/ptrace.h>
#include <sys/statfs.h>
#include <sys/wait.h>

#include "../../bpf/guard.h"

// Attaches to a thread without stopping it, and without a SIGSTOP that others could see. Returns 0, or -1 and sets errno.
static inline int cguard_seize(pid_t thread) { return (int)ptrace(PTRACE_SEIZE, thread, 0, 0); }
// Stops an attached thread before it returns to its program.
static inline int cguard_interrupt(pid_t thread) { return (int)ptrace(PTRACE_INTERRUPT, thread, 0, 0); }
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

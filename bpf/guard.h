// What permd-guard and its BPF programs share: the values of maps and events. Numbers of devices are the kernel's: the
// major above 20 bits of the minor.

#ifndef PERMD_GUARD_H
#define PERMD_GUARD_H

#include <linux/types.h>

/* What a node is: the permission it needs, and when. */
enum guard_kind {
    GUARD_NOTHING = 0, /* A node that needs no permission. */
    GUARD_CAMERA = 1,
    GUARD_MICROPHONE = 2,
    GUARD_LOCATION = 3,
    GUARD_KIND_MASK = 0xff,
    /* A camera without read(): every way to an image begins with a call that sets up buffers, so opening it asks nobody. */
    GUARD_AT_STREAM = 0x100,
    /* It may need the permission, or none: permd-guard finds out. */
    GUARD_UNSORTED = 0x200,
};

/* What was decided about a process. */
enum guard_verdict {
    GUARD_ALLOW = 1,
    GUARD_DENY = 2,
    GUARD_CUT = 3, /* What it has open gives no further image; what it opens is asked about. */
};

/* What happens to the processes of a user while nothing is decided. */
enum guard_mode {
    GUARD_PASS = 0,
    GUARD_HOLD = 1,
    GUARD_REFUSE = 2,
};

/* What permd-guard has done about a thread that waits. */
enum guard_claim {
    GUARD_UNCLAIMED = 0,
    GUARD_CLAIMED = 1,     /* It is about to stop, and restarts its call when it goes on. */
    GUARD_GIVEN_UP = 2,    /* Its call fails with EACCES. */
    GUARD_INTERRUPTED = 3, /* Its call fails with EINTR. */
};

enum guard_event_type {
    GUARD_ASKED = 1,       /* The thread repeats its call until it is claimed. */
    GUARD_REFUSED = 2,     /* Its call has failed, since it cannot be held. */
    GUARD_NOT_CLAIMED = 3, /* permd-guard did not claim it in time, so its call has failed. */
    GUARD_SIGNALLED = 4,   /* A process with held threads gets a signal. */
};

/* A program that a process runs: an exec is another one. */
struct guard_process {
    __u64 start; /* Of its process, in nanoseconds of CLOCK_BOOTTIME. */
    __u32 pid;
    __u32 exec;
};

struct guard_verdict_key {
    struct guard_process process;
    __u32 kind;
    __u32 unused;
};

struct guard_decision {
    __u32 verdict;
    __u32 user; /* Who is responsible for the process. */
};

struct guard_wait {
    __u64 start; /* Of the thread: its number may have been another's. */
    __u64 since; /* CLOCK_MONOTONIC, nanoseconds. */
    __u32 claim;
    __u32 is_stopping; /* It has seen that it is claimed. */
};

struct guard_user {
    __u64 refused_until; /* CLOCK_MONOTONIC, nanoseconds: its processes ask too often. */
    __u32 mode;
    __u32 unused;
};

struct guard_settings {
    __u64 claim_time; /* Nanoseconds in which a thread has to be claimed. */
    __u32 first_user; /* Users below are the system's. */
    __u32 absent;     /* The mode of users who are not listed. */
    __u32 is_running; /* Otherwise nobody would claim a thread. */
    __u32 unused;
};

struct guard_event {
    struct guard_process process;
    __u32 type;
    __u32 thread;
    __u32 user;
    __u32 device;
    __u32 kind;
    __u32 call; /* Of GUARD_SIGNALLED: whether a handler interrupts calls. Else the ioctl's number; 0 is the open. */
};

#endif

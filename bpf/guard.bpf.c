// The kernel's part of permd-guard: decides each open of a guarded device node, each call that leads to an
// image, and each new socket of Bluetooth.
//
// Each hook is here twice. As a program of type lsm it always runs. As one that modifies the result of a function
// (fmod_ret) it needs no "bpf" in the kernel's list of security modules, but a kernel that preempts itself skips it while
// it runs for another thread on the same processor, and what is skipped passes; permd-guard uses it on other kernels only.
//
// What permd-guard has stored in `verdicts` holds. If nothing is stored, the thread repeats its call until permd-guard has
// claimed it with PTRACE_INTERRUPT; then it waits without using a processor.

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "guard.h"

// The fields that are read, found at load time whatever the kernel's layout is (CO-RE).
#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
typedef struct { __u32 val; } kuid_t;
struct user_namespace { struct user_namespace *parent; int level; kuid_t owner; };
struct cred { kuid_t uid; struct user_namespace *user_ns; };
struct inode { __u16 i_mode; __u32 i_rdev; };
struct file { struct inode *f_inode; unsigned int f_mode; };
struct kernfs_node { __u64 id; };
struct cgroup { struct kernfs_node *kn; };
struct css_set { struct cgroup *dfl_cgrp; };
struct sigaction { void *sa_handler; };
struct k_sigaction { struct sigaction sa; };
struct sighand_struct { struct k_sigaction action[64]; };
struct signal_struct { int nr_threads; };
struct task_struct {
    int pid, tgid;
    unsigned int flags, ptrace;
    __u64 start_boottime, self_exec_id;
    struct task_struct *group_leader;
    const struct cred *cred;
    struct sighand_struct *sighand;
    struct signal_struct *signal;
    struct css_set *cgroups;
    void *io_uring;
};
struct pt_regs___x86 { unsigned long orig_ax; };
struct pt_regs___arm64 { int syscallno; };
#pragma clang attribute pop

char LICENSE[] SEC("license") = "GPL";

#define TABLE(NAME, TYPE, KEY, VALUE, COUNT, FLAGS) \
    struct { \
        __uint(type, TYPE); \
        __type(key, KEY); \
        __type(value, VALUE); \
        __uint(max_entries, COUNT); \
        __uint(map_flags, FLAGS); \
    } NAME SEC(".maps")

// More nodes, users or processes than a machine has who use cameras. permd-guard keeps to these bounds itself.
TABLE(majors, BPF_MAP_TYPE_HASH, __u32, __u32, 512, 0);      // Of nodes that are not in `nodes`.
TABLE(nodes, BPF_MAP_TYPE_HASH, __u32, __u32, 1024, BPF_F_NO_PREALLOC);
TABLE(users, BPF_MAP_TYPE_HASH, __u32, struct guard_user, 1024, BPF_F_NO_PREALLOC);
// The accounts to which subordinate users belong.
TABLE(subordinates, BPF_MAP_TYPE_LPM_TRIE, struct guard_prefix, __u32, 65536, BPF_F_NO_PREALLOC);
TABLE(verdicts, BPF_MAP_TYPE_HASH, struct guard_verdict_key, struct guard_decision, 16384, BPF_F_NO_PREALLOC);
TABLE(groups, BPF_MAP_TYPE_LRU_HASH, __u64, struct guard_rate, 4096, 0);    // Control groups that cause events.
// The threads of each user that wait; permd-guard makes these tables. A thread for which there is no place is refused.
struct user_waits {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(key_size, sizeof(__u32));
    __uint(value_size, sizeof(struct guard_wait));
    __uint(max_entries, GUARD_WAITS);
};
struct {
    __uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
    __type(key, __u32);
    __uint(max_entries, 1024);
    __array(values, struct user_waits);
} waits SEC(".maps");
TABLE(reported, BPF_MAP_TYPE_HASH, __u32, __u32, 2048, BPF_F_NO_PREALLOC);  // Processes of which signals are reported.
TABLE(settings, BPF_MAP_TYPE_ARRAY, __u32, struct guard_settings, 1, 0);
// Some 4,000 events. A call that cannot be reported is refused.
struct {
    __uint(type, BPF_MAP_TYPE_RINGBUF);
    __uint(max_entries, 256 * 1024);
} events SEC(".maps");

enum {
    EINTR = 4, EACCES = 13, EAFNOSUPPORT = 97, ERESTARTNOINTR = 513,
    S_IFMT = 0170000, S_IFCHR = 0020000, FMODE_READ = 1, MAY_READ = 4,
    AF_BLUETOOTH = 31,
    FIRST_SUBORDINATE = 65536, // Below are the accounts of this machine.
    PF_IO_WORKER = 0x10, PF_KTHREAD = 0x200000,
    SIGCHLD = 17, SIGCONT = 18, SIGSTOP = 19, SIGURG = 23, SIGWINCH = 28,
    MOST_SIGNALS = 64, MOST_NAMESPACES = 33, // MAX_USER_NAMESPACE_LEVEL and the first one
};
#define SA_RESTART 0x10000000ul

enum { // videodev2.h: the numbers of VIDIOC_*, and the types of buffers into which programs write
    REQBUFS = 8, QBUF = 15, EXPBUF = 16, DQBUF = 17, STREAMON = 18, CREATE_BUFS = 92,
    VIDEO_OUTPUT = 2, VIDEO_OUTPUT_MPLANE = 10,
};

enum { // linux/fs.h: the numbers of devices that choose none
    DYNAMIC_FIRST = 234, DYNAMIC_LAST = 254, MORE_DYNAMIC_FIRST = 384, MORE_DYNAMIC_LAST = 511,
};

struct attempt {
    struct task_struct *task;
    struct guard_process process;
    __u64 group;
    __u32 thread, user, device, kind;
    __u32 takes_images; /* From what is open already. */
    __u32 call;         /* As in an event. */
};

// Of a process in a user namespace, whoever made the outermost one is responsible; of one that runs as a subordinate user,
// the account to which that belongs.
static __always_inline __u32 responsible_user(struct task_struct *task) {
    struct user_namespace *space = task->cred->user_ns;
    for (int i = 0; i < MOST_NAMESPACES && space->level > 1; i++) space = space->parent;
    __u32 user = space->level == 1 && space->owner.val ? space->owner.val : task->cred->uid.val;
    if (user < FIRST_SUBORDINATE) return user;
    struct guard_prefix prefix = {.length = 32, .user = bpf_htonl(user)};
    __u32 *owner = bpf_map_lookup_elem(&subordinates, &prefix);
    return owner ? *owner : user;
}

static __always_inline struct guard_process program_of(struct task_struct *task) {
    struct task_struct *leader = task->group_leader;
    return (struct guard_process){
        .start = leader->start_boottime, .pid = task->tgid, .exec = (__u32)leader->self_exec_id};
}

// The control group, which a program cannot leave that may write none.
static __always_inline __u64 group_of(struct task_struct *task) { return task->cgroups->dfl_cgrp->kn->id; }

enum { SECOND = 1000000000, EVENTS_OF_USER = 1000, EVENTS_OF_GROUP = 250 }; // In a second.

static __always_inline int is_within(struct guard_rate *rate, __u32 most) {
    __u64 now = bpf_ktime_get_ns();
    if (now - rate->since > SECOND) {
        rate->since = now;
        rate->events = 0;
    }
    return rate->events++ < most;
}

// Events are limited for each user, and for each control group, so that those of others find a place.
static __always_inline int may_report(__u32 id, __u64 group_id) {
    struct guard_user *user = bpf_map_lookup_elem(&users, &id);
    if (!user) return 0;
    struct guard_rate *group = bpf_map_lookup_elem(&groups, &group_id);
    if (!group) {
        struct guard_rate new = {};
        bpf_map_update_elem(&groups, &group_id, &new, BPF_NOEXIST);
        group = bpf_map_lookup_elem(&groups, &group_id);
        if (!group) return 0;
    }
    return is_within(group, EVENTS_OF_GROUP) && is_within(&user->rate, EVENTS_OF_USER);
}

static __always_inline int report(enum guard_event_type type, const struct attempt *attempt) {
    if (!may_report(attempt->user, attempt->group)) return 0;
    struct guard_event *event = bpf_ringbuf_reserve(&events, sizeof *event, 0);
    if (!event) return 0;
    event->process = attempt->process;
    event->type = type;
    event->thread = attempt->thread;
    event->user = attempt->user;
    event->device = attempt->device;
    event->kind = attempt->kind;
    event->call = attempt->call;
    event->group = attempt->group;
    bpf_ringbuf_submit(event, 0);
    return 1;
}

struct poll {
    __u32 user, thread, claim;
    __u64 end;
};

static long poll_claim(__u32 index, struct poll *poll) {
    void *places = bpf_map_lookup_elem(&waits, &poll->user);
    if (!places) return 1;
    volatile struct guard_wait *wait = bpf_map_lookup_elem(places, &poll->thread);
    if (!wait) return 1;
    poll->claim = wait->claim;
    return poll->claim || bpf_ktime_get_ns() > poll->end;
}

enum {
    // Nanoseconds in which permd-guard, on another processor, most often is faster than the way out of the kernel.
    SHORT_TURN = 150000,
    // Of a thread that would run a handler of SIGCONT at each turn.
    LONG_TURN = 5000000,
    POLLS_PER_TURN = 1 << 20,
};

// Lets the thread repeat its call until permd-guard has claimed it. A call restarts only if a signal is pending on the way
// out: SIGSTOP makes it pending, and SIGCONT takes the stop away before anybody could see it.
static __always_inline int stop(const struct attempt *attempt, __u64 claim_time) {
    struct task_struct *task = attempt->task;
    __u32 thread = attempt->thread;
    __u64 now = bpf_ktime_get_ns();
    __u32 user = attempt->user;
    void *places = bpf_map_lookup_elem(&waits, &user);
    if (!places) return -EACCES;
    struct guard_wait *wait = bpf_map_lookup_elem(places, &thread);
    if (wait && wait->start != task->start_boottime) {
        bpf_map_delete_elem(places, &thread);
        wait = 0;
    }
    if (!wait) {
        struct guard_wait new = {.start = task->start_boottime, .since = now};
        // A tracer would see the signals, and keeps permd-guard from stopping the thread.
        if (task->ptrace) {
            report(GUARD_REFUSED, attempt);
            return -EACCES;
        }
        if (bpf_map_update_elem(places, &thread, &new, BPF_ANY)) return -EACCES;
        if (!report(GUARD_ASKED, attempt)) {
            bpf_map_delete_elem(places, &thread);
            return -EACCES;
        }
    } else if (wait->claim == GUARD_UNCLAIMED && now - wait->since > claim_time) {
        report(GUARD_NOT_CLAIMED, attempt);
        bpf_map_delete_elem(places, &thread);
        return -EACCES;
    }
    int is_handled = (__u64)task->sighand->action[SIGCONT - 1].sa.sa_handler > 1;
    struct poll poll = {.user = user, .thread = thread, .end = now + (is_handled ? LONG_TURN : SHORT_TURN)};
    bpf_loop(POLLS_PER_TURN, poll_claim, &poll, 0);
    wait = bpf_map_lookup_elem(places, &thread);
    // What a thread is let go for is stored before; then the next turn finds it.
    if (!wait || poll.claim == GUARD_UNCLAIMED) {
        if (bpf_send_signal_thread(SIGSTOP)) return -EACCES;
        bpf_send_signal_thread(SIGCONT);
        return -ERESTARTNOINTR;
    }
    // The call restarts only if the thread is about to stop: not if permd-guard has ended meanwhile.
    if (poll.claim == GUARD_CLAIMED && !wait->is_stopping && task->ptrace) {
        wait->is_stopping = 1;
        return -ERESTARTNOINTR;
    }
    bpf_map_delete_elem(places, &thread);
    return poll.claim == GUARD_INTERRUPTED ? -EINTR : poll.claim == GUARD_ABSENT ? -EAFNOSUPPORT : -EACCES;
}

// What is no system call of its own cannot be restarted: what io_uring does, in a thread of its own or on the way out of
// any call of a program that uses it, and io_submit(2).
static __always_inline int is_asynchronous(struct task_struct *task) {
    if (task->flags & PF_IO_WORKER) return 1;
    if (bpf_core_field_exists(task->io_uring) && task->io_uring) return 1;
    void *registers = (void *)bpf_task_pt_regs(task);
    if (bpf_core_field_exists(struct pt_regs___x86, orig_ax)) {
        unsigned long call = ((struct pt_regs___x86 *)registers)->orig_ax;
        return call == 209 || call == 248; // Of 64-bit and of 32-bit programs.
    }
    int call = ((struct pt_regs___arm64 *)registers)->syscallno;
    return call == 2 || call == 246;
}

// Whether an account is a person's: one of this machine's, of systemd-homed, or above those of services and below those
// of containers (systemd's UIDS-GIDS).
static __always_inline int is_person(__u32 user, const struct guard_settings *now) {
    return user <= now->last_user || (user >= 60001 && user <= 60513) || (user >= 65536 && user < 524288);
}

static __always_inline int decide(struct attempt *attempt) {
    __u32 zero = 0;
    struct guard_settings *now = bpf_map_lookup_elem(&settings, &zero);
    struct task_struct *task = attempt->task;
    if (!now || task->flags & PF_KTHREAD) return 0;
    attempt->user = responsible_user(task);
    if (attempt->user < now->first_user) return 0;
    struct guard_user *user = bpf_map_lookup_elem(&users, &attempt->user);
    if (!user && attempt->user != GUARD_NOBODY && !is_person(attempt->user, now)) return 0;
    __u32 mode = user ? user->mode : attempt->user == GUARD_NOBODY ? GUARD_REFUSE : now->absent;
    if (mode == GUARD_PASS) return 0;
    attempt->thread = task->pid;
    attempt->process = program_of(task);
    struct guard_verdict_key key = {.process = attempt->process, .kind = attempt->kind & GUARD_KIND_MASK};
    struct guard_decision *known = bpf_map_lookup_elem(&verdicts, &key);
    if (known && known->verdict == GUARD_GRANT) return 0;
    int may_need_none = attempt->kind & GUARD_UNSORTED;
    if (known && (known->verdict == GUARD_DENY || attempt->takes_images) && !may_need_none) return -EACCES;
    if (mode == GUARD_REFUSE || !now->is_running) return -EACCES;
    attempt->group = group_of(task);
    if (is_asynchronous(task)) {
        report(GUARD_REFUSED, attempt);
        return -EACCES;
    }
    return stop(attempt, now->claim_time);
}

static __always_inline int is_dynamic(__u32 major) {
    return (major >= DYNAMIC_FIRST && major <= DYNAMIC_LAST) ||
        (major >= MORE_DYNAMIC_FIRST && major <= MORE_DYNAMIC_LAST);
}

static __always_inline __u32 kind_of(struct file *file, __u32 *device) {
    struct inode *inode = file->f_inode;
    if ((inode->i_mode & S_IFMT) != S_IFCHR) return GUARD_NOTHING;
    *device = inode->i_rdev;
    __u32 *kind = bpf_map_lookup_elem(&nodes, device);
    if (kind) return *kind;
    __u32 major = *device >> 20;
    kind = bpf_map_lookup_elem(&majors, &major);
    if (kind) return *kind;
    // Nobody has said yet whose number it is. That of receivers is one of these.
    return is_dynamic(major) ? GUARD_LOCATION | GUARD_UNSORTED : GUARD_NOTHING;
}

static __always_inline int opened(struct file *file) {
    struct attempt attempt = {};
    __u32 kind = kind_of(file, &attempt.device);
    if (kind == GUARD_NOTHING || kind & GUARD_AT_STREAM) return 0;
    if (kind & GUARD_IF_READ && !(file->f_mode & FMODE_READ)) return 0;
    attempt.task = bpf_get_current_task_btf();
    attempt.kind = kind;
    return decide(&attempt);
}

// Whoever has opened a camera, or has begun its stream: a program about which nothing was decided is asked about.
static __always_inline int uses_camera(struct file *file, __u32 device, __u32 kind, __u32 takes_images) {
    struct attempt attempt = {
        .task = bpf_get_current_task_btf(), .device = device, .kind = kind, .takes_images = takes_images};
    return decide(&attempt);
}

// Freeing buffers, or asking whether they can be had, leads to no image.
static __always_inline int has_no_buffers(__u32 call, unsigned long argument) {
    __u32 count = 1;
    // In struct v4l2_create_buffers, `count` follows `index`.
    if (call == CREATE_BUFS) argument += sizeof(__u32);
    return !bpf_probe_read_user(&count, sizeof count, (void *)argument) && count == 0;
}

// Whether the call is about buffers into which a program writes. It may change that before the driver reads it; what
// others have written comes by read() or by mapping, which do not ask for this.
static __always_inline int feeds(__u32 call, unsigned long argument, int is_compat) {
    __u32 type = 0;
    if (call == REQBUFS || call == QBUF || call == DQBUF) argument += 4;
    if (call == CREATE_BUFS) argument += is_compat ? 12 : 16;
    if (bpf_probe_read_user(&type, sizeof type, (void *)argument)) return 0;
    return type == VIDEO_OUTPUT || type == VIDEO_OUTPUT_MPLANE;
}

static __always_inline int ioctl(struct file *file, unsigned int command, unsigned long argument, int is_compat) {
    __u32 call = command & 0xff;
    if ((command >> 8 & 0xff) != 'V') return 0;
    int prepares = call == REQBUFS || call == CREATE_BUFS;
    if (!prepares && call != STREAMON && call != QBUF && call != DQBUF && call != EXPBUF) return 0;
    __u32 device = 0;
    __u32 kind = kind_of(file, &device);
    if ((kind & GUARD_KIND_MASK) != GUARD_CAMERA) return 0;
    if (prepares && has_no_buffers(call, argument)) return 0;
    if (kind & GUARD_FED && feeds(call, argument, is_compat)) return 0;
    return uses_camera(file, device, kind, !prepares);
}

static __always_inline int takes(struct file *file) {
    __u32 device = 0;
    __u32 kind = kind_of(file, &device);
    return (kind & GUARD_KIND_MASK) == GUARD_CAMERA ? uses_camera(file, device, kind, 1) : 0;
}

SEC("lsm/file_open")
int BPF_PROG(guard_open, struct file *file, int result) { return result ? result : opened(file); }

SEC("fmod_ret/security_file_open")
int BPF_PROG(guard_open_traced, struct file *file, int result) { return result ? result : opened(file); }

SEC("lsm/file_ioctl")
int BPF_PROG(guard_ioctl, struct file *file, unsigned int command, unsigned long argument, int result) {
    return result ? result : ioctl(file, command, argument, 0);
}

SEC("fmod_ret/security_file_ioctl")
int BPF_PROG(guard_ioctl_traced, struct file *file, unsigned int command, unsigned long argument, int result) {
    return result ? result : ioctl(file, command, argument, 0);
}

// Of 32-bit programs, where the kernel has a hook of its own for them.
SEC("lsm/file_ioctl_compat")
int BPF_PROG(guard_ioctl_compat, struct file *file, unsigned int command, unsigned long argument, int result) {
    return result ? result : ioctl(file, command, argument, 1);
}

SEC("fmod_ret/security_file_ioctl_compat")
int BPF_PROG(guard_ioctl_compat_traced, struct file *file, unsigned int command, unsigned long argument, int result) {
    return result ? result : ioctl(file, command, argument, 1);
}

// Mapping buffers needs no right to them in V4L2: those of a stream that another program has begun hold its images.
SEC("lsm/mmap_file")
int BPF_PROG(
    guard_mmap, struct file *file, unsigned long asked, unsigned long protection, unsigned long flags, int result
) {
    return result || !file ? result : takes(file);
}

SEC("fmod_ret/security_mmap_file")
int BPF_PROG(guard_mmap_traced, struct file *file, unsigned long protection, unsigned long flags, int result) {
    return result || !file ? result : takes(file);
}

SEC("lsm/file_permission")
int BPF_PROG(guard_read, struct file *file, int mask, int result) {
    return result || !(mask & MAY_READ) ? result : takes(file);
}

SEC("fmod_ret/security_file_permission")
int BPF_PROG(guard_read_traced, struct file *file, int mask, int result) {
    return result || !(mask & MAY_READ) ? result : takes(file);
}

// A socket of any of its protocols reaches devices, or listens to them. The kernel's own belong to those of programs.
static __always_inline int creates(int family, int is_kernel) {
    if (family != AF_BLUETOOTH || is_kernel) return 0;
    struct attempt attempt = {.task = bpf_get_current_task_btf(), .kind = GUARD_BLUETOOTH};
    return decide(&attempt);
}

SEC("lsm/socket_create")
int BPF_PROG(guard_socket, int family, int type, int protocol, int is_kernel, int result) {
    return result ? result : creates(family, is_kernel);
}

SEC("fmod_ret/security_socket_create")
int BPF_PROG(guard_socket_traced, int family, int type, int protocol, int is_kernel, int result) {
    return result ? result : creates(family, is_kernel);
}

static __always_inline int is_ignored_by_default(int signal) {
    return signal == SIGCHLD || signal == SIGCONT || signal == SIGURG || signal == SIGWINCH;
}

// A stopped thread sees no signals, so permd-guard lets it go when one comes.
SEC("tp_btf/signal_generate")
int BPF_PROG(guard_signal, int signal, void *info, struct task_struct *task, int group, int result) {
    __u32 pid = task->tgid;
    if (signal < 1 || signal > MOST_SIGNALS || !bpf_map_lookup_elem(&reported, &pid)) return 0;
    // Those by which a thread repeats its call.
    if (task == bpf_get_current_task_btf() && !group && (signal == SIGSTOP || signal == SIGCONT)) return 0;
    // An index that varies is not checked by the kernel, so this is read as bytes: the handler and the flags.
    __u64 action[2] = {};
    __u64 place = (__u64)((signal - 1) & (MOST_SIGNALS - 1)) * bpf_core_type_size(struct k_sigaction);
    bpf_probe_read_kernel(action, sizeof action, (char *)&task->sighand->action[0] + place);
    __u64 handler = action[0];
    // The kernel queues what a traced thread ignores.
    if (handler == 1 || (handler == 0 && is_ignored_by_default(signal))) return 0;
    int is_certain = !group || task->signal->nr_threads == 1;
    struct attempt attempt = {
        .process = program_of(task),
        .thread = group ? 0 : task->pid,
        .user = responsible_user(task),
        .group = group_of(task),
        .call = handler > 1 && !(action[1] & SA_RESTART) && is_certain};
    report(GUARD_SIGNALLED, &attempt);
    return 0;
}

// A thread that is killed does not repeat its call.
SEC("tp_btf/sched_process_exit")
int BPF_PROG(guard_exit, struct task_struct *task) {
    __u32 thread = task->pid, user = responsible_user(task);
    void *places = bpf_map_lookup_elem(&waits, &user);
    if (places) bpf_map_delete_elem(places, &thread);
    return 0;
}

// without-user-namespaces PROGRAM…: runs a program that may not create user namespaces, as on systems that deny them to
// ordinary users. Requires root, because the filter is set without no_new_privs, so that sudo works in the program.
#define _GNU_SOURCE
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define EQUALS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define HAS(bits, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, yes, no)
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)

int main(int count, char **words) {
    // A filter cannot read the flags of clone3, which are in memory; glibc falls back to clone on ENOSYS.
    struct sock_filter filter[] = {
        LOAD(nr),
        EQUALS(SYS_clone3, 0, 1),
        RETURN(SECCOMP_RET_ERRNO | ENOSYS),
        EQUALS(SYS_unshare, 1, 0),
        EQUALS(SYS_clone, 0, 3),
        LOAD(args[0]),
        HAS(CLONE_NEWUSER, 0, 1),
        RETURN(SECCOMP_RET_ERRNO | EPERM),
        RETURN(SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    if (count < 2) return 64;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return perror("seccomp"), 1;
    execvp(words[1], words + 1);
    return perror(words[1]), 127;
}

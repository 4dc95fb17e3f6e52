// Linux headers that Swift's Glibc module leaves out, and the system calls glibc does not wrap.
#ifndef CLINUX_SHIM_H
#define CLINUX_SHIM_H
#include <errno.h>
#include <fcntl.h>
#include <linux/videodev2.h>
#include <malloc.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

// open(2)'s O_PATH, which its header shows under _GNU_SOURCE only.
static const int CLINUX_O_PATH = __O_PATH;

// pidfd_open(2): glibc 2.36 has a wrapper in a header that older ones lack. Returns -1 and errno on failure.
static inline int clinux_pidfd_open(pid_t pid, unsigned int flags) {
    return (int)syscall(SYS_pidfd_open, pid, flags);
}
// VIDIOC_QUERYCAP, V4L2's ioctl: the request number is a macro and ioctl(2) is variadic.
static inline int clinux_v4l2_querycap(int fd, struct v4l2_capability *capability) {
    return ioctl(fd, VIDIOC_QUERYCAP, capability);
}

// In their headers only with feature macros that the Glibc module is built without.
extern char *strptime(const char *text, const char *format, struct tm *fields);
extern int wcwidth(wchar_t character);

#endif

// Headers of Linux and glibc that Swift's Glibc module omits, and system calls that glibc does not wrap.
#ifndef CLINUX_SHIM_H
#define CLINUX_SHIM_H
#include <errno.h>
#include <fcntl.h>
#include <libintl.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/stat.h>
#include <linux/unix_diag.h>
#include <linux/videodev2.h>
#include <malloc.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

// O_PATH of open(2), which the header defines only under _GNU_SOURCE.
static const int CLINUX_O_PATH = __O_PATH;

// pidfd_open(2): glibc has a wrapper since 2.36, in a header that older versions lack. Returns -1 and sets errno on
// failure.
static inline int clinux_pidfd_open(pid_t pid, unsigned int flags) {
    return (int)syscall(SYS_pidfd_open, pid, flags);
}
// Whether the kernel passes a descriptor to another process now (unix(7), ETOOMANYREFS).
static inline int clinux_can_pass(int fd) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0, ends) != 0) return 1;
    char byte = 0;
    union { struct cmsghdr header; char space[CMSG_SPACE(sizeof(int))]; } control = {
        .header = {.cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS}};
    memcpy(CMSG_DATA(&control.header), &fd, sizeof(int));
    struct iovec part = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control.space)};
    int can = sendmsg(ends[0], &message, MSG_DONTWAIT) >= 0 || errno != ETOOMANYREFS;
    close(ends[0]);
    close(ends[1]);
    return can;
}
// V4L2's VIDIOC_QUERYCAP: the request number is a macro, and ioctl(2) is variadic.
static inline int clinux_v4l2_querycap(int fd, struct v4l2_capability *capability) {
    return ioctl(fd, VIDIOC_QUERYCAP, capability);
}

// The format of a capturing node with that index; 0 if there is none.
static inline uint32_t clinux_v4l2_format(int fd, uint32_t index) {
    for (int type = 0; type < 2; type++) {
        struct v4l2_fmtdesc format = {
            .index = index, .type = type ? V4L2_BUF_TYPE_VIDEO_CAPTURE_MPLANE : V4L2_BUF_TYPE_VIDEO_CAPTURE};
        if (ioctl(fd, VIDIOC_ENUM_FMT, &format) == 0) return format.pixelformat;
    }
    return 0;
}

// Whether a camera says that its shutter is closed (V4L2_CID_PRIVACY); -1 if it says nothing about one.
static inline int clinux_v4l2_is_covered(int fd) {
    struct v4l2_control control = {.id = V4L2_CID_PRIVACY};
    return ioctl(fd, VIDIOC_G_CTRL, &control) == 0 ? control.value != 0 : -1;
}

// AT_STATX_DONT_SYNC of statx(2), which the header defines only under _GNU_SOURCE.
static const int CLINUX_AT_STATX_DONT_SYNC = 0x4000;

// Reads the type, the mode, the owner and the device number of the file that a path leads to, with statx(2). Unlike
// stat(2), this does not ask a file system that a program or another machine provides, which may never answer. Returns
// -1 and sets errno on failure.
static inline int clinux_stat_unasked(int folder, const char *path, struct statx *found) {
    const unsigned int wanted = STATX_TYPE | STATX_MODE | STATX_UID;
    return (int)syscall(SYS_statx, folder, path, CLINUX_AT_STATX_DONT_SYNC, wanted, found);
}

// What the kernel reports about one AF_UNIX socket (sock_diag(7)).
struct clinux_unix_socket {
    // The inode of the connected peer; 0 if there is none.
    uint32_t peer;
    // The bound address, as passed to bind(2); an accepted socket has the address of its listener. Length 0 if unbound.
    unsigned char name[108];
    uint32_t name_length;
};

// Opens a netlink socket for clinux_ask_unix_socket. Returns -1 and sets errno on failure.
static inline int clinux_open_sock_diag(void) {
    return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_SOCK_DIAG);
}

// Queries the socket with that inode. The kernel replies within send(2), so this never blocks. Returns 0 or an errno
// value: ENOENT if this network namespace has no such AF_UNIX socket, or if the kernel lacks unix_diag.
static inline int clinux_ask_unix_socket(int diag, uint32_t inode, struct clinux_unix_socket *found) {
    struct {
        struct nlmsghdr header;
        struct unix_diag_req question;
    } request = {
        .header = {.nlmsg_len = sizeof request, .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST,
                   .nlmsg_seq = inode},
        .question = {.sdiag_family = AF_UNIX, .udiag_states = UINT32_MAX, .udiag_ino = inode,
                     .udiag_show = UDIAG_SHOW_NAME | UDIAG_SHOW_PEER, .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
    };
    union {
        struct nlmsghdr header;
        unsigned char bytes[4096];
    } answer;
    memset(found, 0, sizeof *found);
    if (send(diag, &request, sizeof request, MSG_DONTWAIT) < 0) return errno;
    ssize_t length;
    do {
        length = recv(diag, &answer, sizeof answer, MSG_DONTWAIT);
        if (length < 0) return errno;
    } while (!NLMSG_OK(&answer.header, (size_t)length) || answer.header.nlmsg_seq != inode);
    if (answer.header.nlmsg_type == NLMSG_ERROR) {
        const struct nlmsgerr *error = (const struct nlmsgerr *)NLMSG_DATA(&answer.header);
        return error->error ? -error->error : EPROTO;
    }
    size_t end = answer.header.nlmsg_len, place = NLMSG_LENGTH(NLMSG_ALIGN(sizeof(struct unix_diag_msg)));
    while (place + NLA_HDRLEN <= end) {
        const struct nlattr *attribute = (const struct nlattr *)(answer.bytes + place);
        if (attribute->nla_len < NLA_HDRLEN || place + attribute->nla_len > end) return EPROTO;
        const unsigned char *data = answer.bytes + place + NLA_HDRLEN;
        size_t count = attribute->nla_len - NLA_HDRLEN;
        if (attribute->nla_type == UNIX_DIAG_PEER && count == sizeof found->peer) memcpy(&found->peer, data, count);
        if (attribute->nla_type == UNIX_DIAG_NAME) {
            if (count > sizeof found->name) count = sizeof found->name;
            memcpy(found->name, data, count);
            found->name_length = (uint32_t)count;
        }
        place += NLA_ALIGN(attribute->nla_len);
    }
    return 0;
}

// Their headers declare these only with feature macros that are not defined when the Glibc module is built.
extern char *strptime(const char *text, const char *format, struct tm *fields);
extern int wcwidth(wchar_t character);

#endif

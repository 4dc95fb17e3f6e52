// SQLite's C interface.
#ifndef CSQLITE_SHIM_H
#define CSQLITE_SHIM_H
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

// SQLITE_TRANSIENT is a cast macro: tells sqlite3_bind_* to copy what it is given.
static inline sqlite3_destructor_type csqlite_transient(void) { return SQLITE_TRANSIENT; }

// open(2) for SQLite: a FIFO that somebody put in a file's place must not block, nor a device be read. Folders are
// opened to be synchronised, /dev/urandom once.
static inline int csqlite_open(const char *path, int flags, int mode) {
    int fd = open(path, flags | O_NONBLOCK | O_CLOEXEC, mode);
    struct stat status;
    if (fd < 0) return fd;
    if (fstat(fd, &status) == 0
        && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)
            || (S_ISCHR(status.st_mode) && !(flags & O_NOFOLLOW) && (flags & O_ACCMODE) == O_RDONLY)))
        return fd;
    close(fd);
    errno = EACCES;
    return -1;
}

// sqlite3_config is variadic. Before anything is opened: no twenty pages for each connection beforehand
// (SQLITE_CONFIG_PAGECACHE), and small objects of 512 bytes in a slab of 16 KiB (SQLITE_CONFIG_LOOKASIDE).
static inline void csqlite_configure(void) {
    sqlite3_config(SQLITE_CONFIG_PAGECACHE, (void *)0, 0, 0);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 512, 32);
    sqlite3_initialize();
    sqlite3_vfs *vfs = sqlite3_vfs_find((void *)0);
    if (vfs && vfs->iVersion >= 3) vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)csqlite_open);
}
#endif

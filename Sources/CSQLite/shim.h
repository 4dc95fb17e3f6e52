// SQLite's C interface.
#ifndef CSQLITE_SHIM_H
#define CSQLITE_SHIM_H
#include <errno.h>
#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

// SQLITE_TRANSIENT is a cast macro. It makes sqlite3_bind_* copy the value.
static inline sqlite3_destructor_type csqlite_transient(void) { return SQLITE_TRANSIENT; }

// open(2) for SQLite: must not block on a FIFO put in place of a file, nor open a device. Directories are allowed
// because SQLite syncs them; so are character devices opened for reading, as SQLite reads /dev/urandom once.
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

// sqlite3_config is variadic. Must be called before any connection is opened. Disables the 20 pages preallocated for
// each connection (SQLITE_CONFIG_PAGECACHE) and sets the lookaside allocator to 32 slots of 512 bytes, 16 KiB
// (SQLITE_CONFIG_LOOKASIDE).
static inline void csqlite_configure(void) {
    sqlite3_config(SQLITE_CONFIG_PAGECACHE, (void *)0, 0, 0);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 512, 32);
    sqlite3_initialize();
    sqlite3_vfs *vfs = sqlite3_vfs_find((void *)0);
    if (vfs && vfs->iVersion >= 3) vfs->xSetSystemCall(vfs, "open", (sqlite3_syscall_ptr)csqlite_open);
}
#endif

// SQLite's C interface.
#ifndef CSQLITE_SHIM_H
#define CSQLITE_SHIM_H
#include <sqlite3.h>

// SQLITE_TRANSIENT is a cast macro: tells sqlite3_bind_* to copy what it is given.
static inline sqlite3_destructor_type csqlite_transient(void) { return SQLITE_TRANSIENT; }

// sqlite3_config is variadic. Before anything is opened: no twenty pages for each connection beforehand
// (SQLITE_CONFIG_PAGECACHE), and small objects of 512 bytes in a slab of 16 KiB (SQLITE_CONFIG_LOOKASIDE).
static inline void csqlite_configure(void) {
    sqlite3_config(SQLITE_CONFIG_PAGECACHE, (void *)0, 0, 0);
    sqlite3_config(SQLITE_CONFIG_LOOKASIDE, 512, 32);
}
#endif

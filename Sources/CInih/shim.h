// libinih: INI files.
#ifndef CINIH_SHIM_H
#define CINIH_SHIM_H
#include <ini.h>
#endif

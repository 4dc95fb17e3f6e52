// GLib, as the reference against which tests compare permd's key file parser.
#ifndef CGLIB_SHIM_H
#define CGLIB_SHIM_H
#include <glib.h>
#endif

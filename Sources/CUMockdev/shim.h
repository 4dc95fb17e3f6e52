// umockdev: mock devices for tests. Nothing that is installed links it.
#ifndef CUMOCKDEV_SHIM_H
#define CUMOCKDEV_SHIM_H
#include <umockdev.h>
#endif

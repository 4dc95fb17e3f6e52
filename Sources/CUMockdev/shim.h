// umockdev: mock devices for tests. No product links it.
#ifndef CUMOCKDEV_SHIM_H
#define CUMOCKDEV_SHIM_H
#include <umockdev.h>
#endif

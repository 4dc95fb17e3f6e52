/* Reports mapped windows: for each top-level window, a line with the monotonic time in nanoseconds and the window
   class. There is no window manager, so program windows are children of the root window. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <xcb/xcb.h>

int main(void) {
    xcb_connection_t *screen = xcb_connect(NULL, NULL);
    if (xcb_connection_has_error(screen)) {
        fprintf(stderr, "mapped: cannot connect to the X display\n");
        return 1;
    }
    xcb_window_t root = xcb_setup_roots_iterator(xcb_get_setup(screen)).data->root;
    uint32_t events = XCB_EVENT_MASK_SUBSTRUCTURE_NOTIFY;
    xcb_change_window_attributes(screen, root, XCB_CW_EVENT_MASK, &events);
    xcb_flush(screen);
    printf("ready\n");
    fflush(stdout);
    xcb_generic_event_t *event;
    while ((event = xcb_wait_for_event(screen)) != NULL) {
        if ((event->response_type & 0x7f) == XCB_MAP_NOTIFY) {
            struct timespec now;
            clock_gettime(CLOCK_MONOTONIC, &now);
            xcb_map_notify_event_t *map = (xcb_map_notify_event_t *)event;
            xcb_get_property_reply_t *name = xcb_get_property_reply(
                screen, xcb_get_property(screen, 0, map->window, XCB_ATOM_WM_CLASS, XCB_ATOM_STRING, 0, 64), NULL);
            printf("%lld %.*s\n", (long long)now.tv_sec * 1000000000LL + now.tv_nsec,
                   name != NULL && name->value_len > 0 ? 64 : 1,
                   name != NULL && name->value_len > 0 ? (const char *)xcb_get_property_value(name) : "?");
            fflush(stdout);
            free(name);
        }
        free(event);
    }
    return 0;
}

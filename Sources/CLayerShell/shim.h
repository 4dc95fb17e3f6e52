// A window on the overlay layer of Wayland compositors that have wlr-layer-shell, and when the person is idle.
//
// gtk4-layer-shell replaces functions of libwayland-client, so the linker has to see it first.
#ifndef CLAYERSHELL_SHIM_H
#define CLAYERSHELL_SHIM_H
#include <gdk/wayland/gdkwayland.h>
#include <gtk/gtk.h>
#include <gtk4-layer-shell.h>
#include <string.h>
#include <wayland-client.h>

// Whether the display is that of a compositor with layers.
static inline gboolean clayer_is_supported(void) {
    GdkDisplay *display = gdk_display_get_default();
    // Without layers, gtk_layer_is_supported writes a warning.
    return GDK_IS_WAYLAND_DISPLAY(display)
        && gdk_wayland_display_query_registry(GDK_WAYLAND_DISPLAY(display), "zwlr_layer_shell_v1")
        && gtk_layer_is_supported();
}
// Puts a window that is not realized yet above all windows, in the middle of the monitor that the compositor chooses, without
// the keyboard.
static inline void clayer_place(GtkWindow *window) {
    gtk_layer_init_for_window(window);
    gtk_layer_set_namespace(window, "permd-prompt");
    gtk_layer_set_layer(window, GTK_LAYER_SHELL_LAYER_OVERLAY);
    gtk_layer_set_keyboard_mode(window, GTK_LAYER_SHELL_KEYBOARD_MODE_NONE);
}
// Gives the window the keyboard, or returns it to the window that had it.
static inline void clayer_take_keyboard(GtkWindow *window, gboolean take) {
    gtk_layer_set_keyboard_mode(
        window, take ? GTK_LAYER_SHELL_KEYBOARD_MODE_EXCLUSIVE : GTK_LAYER_SHELL_KEYBOARD_MODE_NONE);
}

// MARK: Idleness (ext-idle-notify-v1)

static const struct wl_message clayer_notification_requests[] = {{"destroy", "", NULL}};
static const struct wl_message clayer_notification_events[] = {{"idled", "", NULL}, {"resumed", "", NULL}};
static const struct wl_interface clayer_notification = {
    "ext_idle_notification_v1", 2, 1, clayer_notification_requests, 2, clayer_notification_events};
static const struct wl_interface *const clayer_idle_types[] = {&clayer_notification, NULL, &wl_seat_interface};
static const struct wl_message clayer_notifier_requests[] = {
    {"destroy", "", NULL},
    {"get_idle_notification", "nuo", (const struct wl_interface **)clayer_idle_types},
    {"get_input_idle_notification", "2nuo", (const struct wl_interface **)clayer_idle_types}};
static const struct wl_interface clayer_notifier = {"ext_idle_notifier_v1", 2, 3, clayer_notifier_requests, 0, NULL};

static inline void clayer_found(void *notifier, struct wl_registry *registry, uint32_t name, const char *type, uint32_t version) {
    if (strcmp(type, clayer_notifier.name) == 0)
        *(struct wl_proxy **)notifier = (struct wl_proxy *)wl_registry_bind(registry, name, &clayer_notifier, MIN(version, 2));
}
static inline void clayer_gone(void *, struct wl_registry *, uint32_t) {}
static const struct wl_registry_listener clayer_registry = {clayer_found, clayer_gone};

// The compositor's notifier, which lives as long as the display; NULL if it has none.
static inline struct wl_proxy *clayer_find_notifier(struct wl_display *display) {
    struct wl_proxy *notifier = NULL;
    // A queue of its own, since GTK handles the events of the others.
    struct wl_event_queue *queue = wl_display_create_queue(display);
    struct wl_display *wrapper = (struct wl_display *)wl_proxy_create_wrapper(display);
    wl_proxy_set_queue((struct wl_proxy *)wrapper, queue);
    struct wl_registry *registry = wl_display_get_registry(wrapper);
    wl_proxy_wrapper_destroy(wrapper);
    wl_registry_add_listener(registry, &clayer_registry, &notifier);
    wl_display_roundtrip_queue(display, queue);
    if (notifier) wl_proxy_set_queue(notifier, NULL);
    wl_registry_destroy(registry);
    wl_event_queue_destroy(queue);
    return notifier;
}
static inline void clayer_resumed(void *, struct wl_proxy *) {}
// Calls `idle` with the context when nobody has used a keyboard, pointer or touch screen for so many milliseconds, counted
// from now. Returns what clayer_forget_idle ends; NULL if the compositor does not tell. With version 1 of the protocol,
// that a program inhibits idleness counts as use.
static inline struct wl_proxy *clayer_watch_idle(guint milliseconds, void (*idle)(void *, struct wl_proxy *), void *context) {
    static void (*listener[2])(void *, struct wl_proxy *);
    listener[0] = idle;
    listener[1] = clayer_resumed;
    static struct wl_proxy *notifier;
    GdkDisplay *display = gdk_display_get_default();
    GdkSeat *seat = gdk_display_get_default_seat(display);
    if (!seat) return NULL;
    if (!notifier) notifier = clayer_find_notifier(gdk_wayland_display_get_wl_display(display));
    if (!notifier) return NULL;
    uint32_t version = wl_proxy_get_version(notifier);
    struct wl_proxy *watch = wl_proxy_marshal_flags(
        notifier, version >= 2 ? 2 : 1, &clayer_notification, version, 0, NULL, milliseconds,
        gdk_wayland_seat_get_wl_seat(seat));
    wl_proxy_add_listener(watch, (void (**)(void))listener, context);
    return watch;
}
static inline void clayer_forget_idle(struct wl_proxy *watch) {
    wl_proxy_marshal_flags(watch, 0, NULL, wl_proxy_get_version(watch), WL_MARSHAL_FLAG_DESTROY);
}
#endif

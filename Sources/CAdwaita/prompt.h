// More inline shims, for the window of prompts only: its place on X11 and Wayland, its labels and its icons.
#ifndef CADWAITA_PROMPT_H
#define CADWAITA_PROMPT_H
#include <glib-unix.h>
#include <gtk/gtk.h>
#ifdef GDK_WINDOWING_X11
#include <X11/Xatom.h>
#include <X11/Xutil.h>
#include <gdk/x11/gdkx.h>
#endif
#ifdef GDK_WINDOWING_WAYLAND
#include <gdk/wayland/gdkwayland.h>
#endif
#include <signal.h>
#include <sys/resource.h>

// GTK's cast macros, which check the type at run time and log a warning on a mismatch.
static inline GtkBox *cadw_box(GtkWidget *widget) { return GTK_BOX(widget); }
static inline GtkLabel *cadw_label(GtkWidget *widget) { return GTK_LABEL(widget); }
static inline GtkButton *cadw_button(GtkWidget *widget) { return GTK_BUTTON(widget); }
static inline GtkCheckButton *cadw_check(GtkWidget *widget) { return GTK_CHECK_BUTTON(widget); }
static inline GtkImage *cadw_image(GtkWidget *widget) { return GTK_IMAGE(widget); }
static inline GtkExpander *cadw_expander(GtkWidget *widget) { return GTK_EXPANDER(widget); }
static inline gboolean cadw_is_label(GtkWidget *widget) { return GTK_IS_LABEL(widget); }
// Whether each child may be as wide as the widget.
static inline gboolean cadw_is_column(GtkWidget *widget) {
    return GTK_IS_BOX(widget) && gtk_orientable_get_orientation(GTK_ORIENTABLE(widget)) == GTK_ORIENTATION_VERTICAL;
}
static inline GtkOrientable *cadw_orientable(GtkWidget *widget) { return GTK_ORIENTABLE(widget); }
static inline GtkSwitch *cadw_switch(GtkWidget *widget) { return GTK_SWITCH(widget); }
static inline GtkRoot *cadw_root(GtkWidget *widget) { return GTK_ROOT(widget); }
static inline GtkWindowHandle *cadw_handle(GtkWidget *widget) { return GTK_WINDOW_HANDLE(widget); }
static inline GtkScrolledWindow *cadw_scrolled_window(GtkWidget *widget) { return GTK_SCROLLED_WINDOW(widget); }
static inline GtkGestureSingle *cadw_gesture_single(GtkGesture *gesture) { return GTK_GESTURE_SINGLE(gesture); }
static inline GtkEventController *cadw_controller(GtkGesture *gesture) { return GTK_EVENT_CONTROLLER(gesture); }

// A check button that is one of several options, exposed to assistive technology as a radio button.
static inline GtkWidget *cadw_option_new(void) {
    return g_object_new(GTK_TYPE_CHECK_BUTTON, "accessible-role", GTK_ACCESSIBLE_ROLE_RADIO, NULL);
}

static inline void cadw_set_margins(GtkWidget *widget, int margin) {
    gtk_widget_set_margin_start(widget, margin);
    gtk_widget_set_margin_end(widget, margin);
    gtk_widget_set_margin_top(widget, margin);
    gtk_widget_set_margin_bottom(widget, margin);
}
// A window that assistive technology announces as a question to be answered.
static inline GtkWidget *cadw_alert_window_new(void) {
    return g_object_new(GTK_TYPE_WINDOW, "accessible-role", GTK_ACCESSIBLE_ROLE_ALERT_DIALOG, NULL);
}
// Hides a widget whose meaning is in the text beside it from assistive technology.
static inline void cadw_hide(GtkWidget *widget) {
    gtk_accessible_update_state(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_STATE_HIDDEN, TRUE, -1);
}

#ifdef GDK_WINDOWING_X11
G_GNUC_BEGIN_IGNORE_DEPRECATIONS
static inline GdkSurface *cadw_x11_surface(GtkWindow *window) {
    GdkSurface *surface = gtk_native_get_surface(GTK_NATIVE(window));
    return surface && GDK_IS_X11_SURFACE(surface) ? surface : NULL;
}
#endif
// With attract, asks the window manager for the person's attention (the urgency hint of ICCCM); without, takes that back.
static inline void cadw_window_attract(GtkWindow *window, gboolean attract) {
#ifdef GDK_WINDOWING_X11
    GdkSurface *surface = cadw_x11_surface(window);
    if (surface) gdk_x11_surface_set_urgency_hint(surface, attract);
#endif
}
// Makes a realized window a dialog that attracts attention, but does not take the keyboard when it appears: with a user
// time of 0, window managers do not focus it (_NET_WM_USER_TIME). With Wayland the compositor decides.
static inline void cadw_window_be_dialog(GtkWindow *window) {
#ifdef GDK_WINDOWING_X11
    GdkSurface *surface = cadw_x11_surface(window);
    if (!surface) return;
    Display *display = gdk_x11_display_get_xdisplay(gdk_surface_get_display(surface));
    Atom dialog = XInternAtom(display, "_NET_WM_WINDOW_TYPE_DIALOG", False);
    XChangeProperty(
        display, gdk_x11_surface_get_xid(surface), XInternAtom(display, "_NET_WM_WINDOW_TYPE", False), XA_ATOM, 32,
        PropModeReplace, (unsigned char *)&dialog, 1);
    gdk_x11_surface_set_user_time(surface, 0);
    cadw_window_attract(window, TRUE);
#endif
}
// Makes a realized window transient for the app's: x11:XID or wayland:HANDLE, as portals name it. Others have no effect.
static inline void cadw_window_set_parent(GtkWindow *window, const char *parent) {
    GdkSurface *surface = gtk_native_get_surface(GTK_NATIVE(window));
    if (!surface) return;
#ifdef GDK_WINDOWING_X11
    if (GDK_IS_X11_SURFACE(surface) && g_str_has_prefix(parent, "x11:")) {
        char *end = NULL;
        guint64 id = g_ascii_strtoull(parent + 4, &end, 16);
        if (id > 0 && id <= G_MAXUINT32 && *end == 0)
            XSetTransientForHint(
                gdk_x11_display_get_xdisplay(gdk_surface_get_display(surface)), gdk_x11_surface_get_xid(surface), id);
    }
#endif
#ifdef GDK_WINDOWING_WAYLAND
    if (GDK_IS_WAYLAND_TOPLEVEL(surface) && g_str_has_prefix(parent, "wayland:"))
        gdk_wayland_toplevel_set_transient_for_exported(GDK_TOPLEVEL(surface), parent + 8);
#endif
}
#ifdef GDK_WINDOWING_X11
G_GNUC_END_IGNORE_DEPRECATIONS
#endif

// cadw_connect for signals whose handler returns a value, such as close-request.
static inline void cadw_connect_answered(
    gpointer instance, const char *signal, gboolean (*body)(gpointer), gpointer context) {
    g_signal_connect_data(instance, signal, G_CALLBACK(body), context, NULL, G_CONNECT_SWAPPED);
}
// GtkEventControllerKey::key-pressed, with the arguments in their original order.
static inline void cadw_connect_key(
    GtkEventController *keys,
    gboolean (*body)(GtkEventController *, guint, guint, GdkModifierType, gpointer), gpointer context) {
    g_signal_connect_data(keys, "key-pressed", G_CALLBACK(body), context, NULL, (GConnectFlags)0);
}
// Shows a tooltip. gtk_widget_set_tooltip_text(3) asks the X server where the pointer is each time it is called, and grabs
// the server meanwhile; this waits until the pointer is there.
static inline gboolean cadw_answer_tooltip(GtkWidget *, int, int, gboolean, GtkTooltip *tooltip, gpointer text) {
    gtk_tooltip_set_text(tooltip, (const char *)text);
    return TRUE;
}
static inline void cadw_tooltip(GtkWidget *widget, const char *text) {
    g_signal_connect_data(
        widget, "query-tooltip", G_CALLBACK(cadw_answer_tooltip), g_strdup(text), (GClosureNotify)(void (*)(void))g_free,
        (GConnectFlags)0);
    gtk_widget_set_has_tooltip(widget, TRUE);
}
// GdkPixbufLoader::size-prepared, with the arguments in their original order.
static inline void cadw_connect_size(GdkPixbufLoader *loader, void (*body)(GdkPixbufLoader *, int, int)) {
    g_signal_connect_data(loader, "size-prepared", G_CALLBACK(body), NULL, NULL, (GConnectFlags)0);
}

// A token with which the program may come to the front; NULL if there is none. The caller frees it.
static inline char *cadw_launch_token(GdkAppLaunchContext *context, const char *program) {
    GAppInfo *info = g_app_info_create_from_commandline(
        program, NULL, G_APP_INFO_CREATE_SUPPORTS_STARTUP_NOTIFICATION, NULL);
    if (!info) return NULL;
    char *token = g_app_launch_context_get_startup_notify_id(G_APP_LAUNCH_CONTEXT(context), info, NULL);
    g_object_unref(info);
    return token;
}

// setrlimit(2), whose resources are an enumeration in glibc: limits the data size to `memory` bytes and the CPU time to
// `seconds`, and disables core dumps. A limit that cannot be set is left unchanged.
static inline void cadw_limit(unsigned long memory, unsigned long seconds) {
    struct rlimit data = {memory, memory}, processor = {seconds, seconds}, none = {0, 0};
    setrlimit(RLIMIT_DATA, &data);
    setrlimit(RLIMIT_CPU, &processor);
    setrlimit(RLIMIT_CORE, &none);
}
#endif

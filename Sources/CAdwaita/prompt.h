// More inline shims, for the window of prompts only: its surface, also on X11, its labels and its icons.
#ifndef CADWAITA_PROMPT_H
#define CADWAITA_PROMPT_H
#include <glib-unix.h>
#include <gtk/gtk.h>
#include <X11/Xatom.h>
#include <X11/Xutil.h>
#include <X11/extensions/XInput2.h>
#include <X11/extensions/sync.h>
#include <gdk/x11/gdkx.h>
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
// Shows a widget that is sensitive as if it were not, also to assistive technology.
static inline void cadw_set_asleep(GtkWidget *widget, gboolean isAsleep) {
    if (isAsleep) gtk_widget_add_css_class(widget, "asleep");
    else gtk_widget_remove_css_class(widget, "asleep");
    gtk_accessible_update_state(
        GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_STATE_DISABLED, isAsleep || !gtk_widget_get_sensitive(widget), -1);
}
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

// The surface of a window; NULL if it is not realized.
static inline GdkSurface *cadw_surface(GtkWindow *window) { return gtk_native_get_surface(GTK_NATIVE(window)); }
static inline GdkToplevelState cadw_toplevel_state(GdkSurface *surface) {
    return gdk_toplevel_get_state(GDK_TOPLEVEL(surface));
}
static inline gboolean cadw_is_x11_display(GdkDisplay *display) { return GDK_IS_X11_DISPLAY(display); }
static inline gboolean cadw_is_x11_surface(GdkSurface *surface) { return GDK_IS_X11_SURFACE(surface); }

// Ends all handlers with the context.
static inline void cadw_disconnect(gpointer object, gpointer context) {
    g_signal_handlers_disconnect_by_data(object, context);
}
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

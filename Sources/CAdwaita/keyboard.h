// More inline shims, for the keyboard on X11: when nobody uses it, and which window has it.
#ifndef CADWAITA_KEYBOARD_H
#define CADWAITA_KEYBOARD_H
#include "prompt.h"

#ifdef GDK_WINDOWING_X11
G_GNUC_BEGIN_IGNORE_DEPRECATIONS
// The X server's counter of milliseconds since the last input; None if it has none.
static inline XSyncCounter cadw_x11_idle_counter(Display *display) {
    int event, error, major, minor, count = 0;
    XSyncCounter counter = None;
    if (!XSyncQueryExtension(display, &event, &error) || !XSyncInitialize(display, &major, &minor)) return None;
    XSyncSystemCounter *counters = XSyncListSystemCounters(display, &count);
    for (int index = 0; index < count; index++)
        if (strcmp(counters[index].name, "IDLETIME") == 0) counter = counters[index].counter;
    if (counters) XSyncFreeSystemCounterList(counters);
    return counter;
}
static inline gboolean cadw_x11_answer_alarm(GdkDisplay *gdk, gpointer event, gpointer idle) {
    int first, error;
    if (!XSyncQueryExtension(gdk_x11_display_get_xdisplay(gdk), &first, &error)
        || ((XEvent *)event)->type != first + XSyncAlarmNotify)
        return FALSE;
    XSyncAlarm alarm = ((XSyncAlarmNotifyEvent *)event)->alarm;
    if (alarm != GPOINTER_TO_SIZE(g_object_get_data(G_OBJECT(gdk), "permd-alarm"))) return FALSE;
    ((void (*)(gpointer))idle)(g_object_get_data(G_OBJECT(gdk), "permd-idle"));
    return TRUE;
}
// Calls `idle` with the context once, when nobody has used a keyboard or pointer for so many milliseconds; with 0 never, which
// also ends an earlier call. One program has one such alarm.
static inline void cadw_x11_watch_idle(GtkWindow *window, guint milliseconds, void (*idle)(gpointer), gpointer context) {
    GdkDisplay *gdk = gtk_widget_get_display(GTK_WIDGET(window));
    Display *display = gdk_x11_display_get_xdisplay(gdk);
    XSyncAlarm old = GPOINTER_TO_SIZE(g_object_get_data(G_OBJECT(gdk), "permd-alarm"));
    if (old) XSyncDestroyAlarm(display, old);
    g_object_set_data(G_OBJECT(gdk), "permd-alarm", NULL);
    XSyncCounter counter = milliseconds > 0 ? cadw_x11_idle_counter(display) : None;
    if (counter == None) return;
    XSyncAlarmAttributes alarm = {
        .trigger = {.counter = counter, .value_type = XSyncAbsolute, .test_type = XSyncPositiveComparison}, .events = True};
    XSyncIntToValue(&alarm.trigger.wait_value, milliseconds);
    XSyncIntToValue(&alarm.delta, 0);
    if (!g_object_get_data(G_OBJECT(gdk), "permd-idle"))
        g_signal_connect_data(gdk, "xevent", G_CALLBACK(cadw_x11_answer_alarm), (gpointer)idle, NULL, (GConnectFlags)0);
    g_object_set_data(G_OBJECT(gdk), "permd-idle", context);
    XSyncAlarm made = XSyncCreateAlarm(
        display, XSyncCACounter | XSyncCAValueType | XSyncCAValue | XSyncCATestType | XSyncCADelta | XSyncCAEvents, &alarm);
    g_object_set_data(G_OBJECT(gdk), "permd-alarm", GSIZE_TO_POINTER(made));
}
// Gives the keyboard to the window, or with `other` to that one. Returns which window had it; 0 if none, or unknown.
static inline gulong cadw_x11_activate(GtkWindow *window, gulong other) {
    GdkSurface *surface = cadw_x11_surface(window);
    if (!surface) return 0;
    GdkDisplay *gdk = gdk_surface_get_display(surface);
    Display *display = gdk_x11_display_get_xdisplay(gdk);
    gulong before = cadw_x11_active(display);
    // As a pager, to which window managers do not refuse it.
    cadw_x11_request(
        display, other ? other : gdk_x11_surface_get_xid(surface), "_NET_ACTIVE_WINDOW", 2,
        gdk_x11_get_server_time(surface));
    return before;
}
G_GNUC_END_IGNORE_DEPRECATIONS
#endif
#endif

// More inline shims, for the window of prompts only: its place on X11 and Wayland, its labels and its icons.
#ifndef CADWAITA_PROMPT_H
#define CADWAITA_PROMPT_H
#include <glib-unix.h>
#include <gtk/gtk.h>
#ifdef GDK_WINDOWING_X11
#include <X11/Xatom.h>
#include <X11/Xutil.h>
#include <X11/extensions/XInput2.h>
#include <X11/extensions/sync.h>
#include <gdk/x11/gdkx.h>
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
// Whether windows are on an X server.
static inline gboolean cadw_is_x11(void) {
#ifdef GDK_WINDOWING_X11
    return GDK_IS_X11_DISPLAY(gdk_display_get_default());
#else
    return FALSE;
#endif
}
// Makes a realized window a dialog that does not take the keyboard when it appears: with a user time of 0, window managers
// do not focus it (_NET_WM_USER_TIME). Of the window types, KWin knows the first, and shows only that one above full-screen
// windows; others do so with the second. With Wayland the compositor decides, and mutter makes only a modal window a dialog.
static inline void cadw_window_be_dialog(GtkWindow *window) {
#ifdef GDK_WINDOWING_X11
    GdkSurface *surface = cadw_x11_surface(window);
    if (!surface) return gtk_window_set_modal(window, TRUE);
    Display *display = gdk_x11_display_get_xdisplay(gdk_surface_get_display(surface));
    Atom types[] = {
        XInternAtom(display, "_KDE_NET_WM_WINDOW_TYPE_CRITICAL_NOTIFICATION", False),
        XInternAtom(display, "_NET_WM_WINDOW_TYPE_NOTIFICATION", False),
        XInternAtom(display, "_NET_WM_WINDOW_TYPE_DIALOG", False)};
    XChangeProperty(
        display, gdk_x11_surface_get_xid(surface), XInternAtom(display, "_NET_WM_WINDOW_TYPE", False), XA_ATOM, 32,
        PropModeReplace, (unsigned char *)types, G_N_ELEMENTS(types));
    gdk_x11_surface_set_user_time(surface, 0);
#endif
}
#ifdef GDK_WINDOWING_X11
// Sends a request about a window to the window manager (EWMH), which alone may change some things of shown windows.
static inline void cadw_x11_request(Display *display, Window window, const char *type, long first, long second) {
    XEvent event = {.xclient = {
        .type = ClientMessage, .window = window, .message_type = XInternAtom(display, type, False), .format = 32,
        .data.l = {first, second, 0, 1}}};
    XSendEvent(
        display, DefaultRootWindow(display), False, SubstructureRedirectMask | SubstructureNotifyMask, &event);
}
// Moves a window that is shown onto the middle of another, as far as its monitor reaches.
static inline void cadw_x11_move_onto(GdkDisplay *gdk, Window window, Window other) {
    Display *display = gdk_x11_display_get_xdisplay(gdk);
    XWindowAttributes own, place;
    Window child;
    int x, y;
    gdk_x11_display_error_trap_push(gdk);
    gboolean isThere = XGetWindowAttributes(display, window, &own) && XGetWindowAttributes(display, other, &place)
        && place.map_state == IsViewable
        && XTranslateCoordinates(display, other, place.root, place.width / 2, place.height / 2, &x, &y, &child);
    if (gdk_x11_display_error_trap_pop(gdk) || !isThere) return;
    GListModel *monitors = gdk_display_get_monitors(gdk);
    for (guint index = 0; index < g_list_model_get_n_items(monitors); index++) {
        GdkMonitor *monitor = g_list_model_get_item(monitors, index);
        GdkRectangle area;
        gdk_monitor_get_geometry(monitor, &area);
        int scale = gdk_monitor_get_scale_factor(monitor);
        g_object_unref(monitor);
        int left = area.x * scale, top = area.y * scale;
        int right = left + area.width * scale - own.width, bottom = top + area.height * scale - own.height;
        if (x < left || y < top || x >= right + own.width || y >= bottom + own.height) continue;
        XMoveWindow(
            display, window, MAX(left, MIN(x - own.width / 2, right)), MAX(top, MIN(y - own.height / 2, bottom)));
        return;
    }
}
#endif
#ifdef GDK_WINDOWING_X11
// The window that has the keyboard, according to the window manager; None if that is unknown.
static inline Window cadw_x11_active(Display *display) {
    Atom type;
    int format;
    unsigned long count = 0, rest;
    unsigned char *value = NULL;
    Window window = None;
    XGetWindowProperty(
        display, DefaultRootWindow(display), XInternAtom(display, "_NET_ACTIVE_WINDOW", False), 0, 1, False, XA_WINDOW,
        &type, &format, &count, &rest, &value);
    if (count == 1 && format == 32) window = *(Window *)value;
    if (value) XFree(value);
    return window;
}
#endif
// Puts a window that is shown where the person sees it: on X11 above others, on every desktop, and in the middle of the
// app's window, if `parent` names one (x11:XID) that is visible, otherwise of the window in use. Never transient for that
// window: window managers hide such a window together with the other one, which the app may minimize or move to another
// desktop.
static inline void cadw_window_place(GtkWindow *window, const char *parent) {
#ifdef GDK_WINDOWING_X11
    GdkSurface *surface = cadw_x11_surface(window);
    if (!surface) return;
    GdkDisplay *gdk = gdk_surface_get_display(surface);
    Display *display = gdk_x11_display_get_xdisplay(gdk);
    Window own = gdk_x11_surface_get_xid(surface);
    cadw_x11_request(display, own, "_NET_WM_STATE", 1, XInternAtom(display, "_NET_WM_STATE_ABOVE", False));
    cadw_x11_request(display, own, "_NET_WM_DESKTOP", 0xFFFFFFFF, 1);
    guint64 id = g_str_has_prefix(parent, "x11:") ? g_ascii_strtoull(parent + 4, NULL, 16) : 0;
    if (id == 0 || id > G_MAXUINT32) id = cadw_x11_active(display);
    if (id != None && id != own) cadw_x11_move_onto(gdk, own, id);
#endif
}

// Whether a window that is shown has the focus. On a Wayland seat without a keyboard, GTK never makes it active. On X11, GTK
// has each window in the state of having the focus if the window manager knows no such state.
static inline gboolean cadw_window_has_focus(GtkWindow *window) {
    GdkSurface *surface = gtk_native_get_surface(GTK_NATIVE(window));
    return gtk_window_is_active(window) || (surface && GDK_IS_TOPLEVEL(surface) && !cadw_is_x11()
        && gdk_toplevel_get_state(GDK_TOPLEVEL(surface)) & GDK_TOPLEVEL_STATE_FOCUSED);
}
// Calls `body` with the context when something about a window, which has just been realized, has changed, such as its focus.
static inline void cadw_window_connect_state(GtkWindow *window, void (*body)(gpointer), gpointer context) {
    GdkSurface *surface = gtk_native_get_surface(GTK_NATIVE(window));
    if (surface && GDK_IS_TOPLEVEL(surface)) cadw_connect(surface, "notify::state", body, context, NULL);
}
#ifdef GDK_WINDOWING_X11
// The window that the window manager has put around a window; itself if there is none, and None if it is gone.
static inline Window cadw_x11_frame(Display *display, Window window) {
    Window root, parent = window, *children = NULL;
    unsigned count;
    do {
        window = parent;
        if (!XQueryTree(display, window, &root, &parent, &children, &count)) return None;
        if (children) XFree(children);
    } while (parent != root && parent != None);
    return window;
}
#endif
// Whether another program's window is above the middle of a window that is shown. On X11, notifications may be, and windows
// that no window manager arranges, such as the full screen of some games.
static inline gboolean cadw_window_is_covered(GtkWindow *window) {
    gboolean isCovered = FALSE;
#ifdef GDK_WINDOWING_X11
    GdkSurface *surface = cadw_x11_surface(window);
    if (!surface) return FALSE;
    GdkDisplay *gdk = gdk_surface_get_display(surface);
    Display *display = gdk_x11_display_get_xdisplay(gdk);
    Window own = gdk_x11_surface_get_xid(surface), top = None;
    XWindowAttributes place;
    int x, y;
    gdk_x11_display_error_trap_push(gdk);
    Window frame = cadw_x11_frame(display, own);
    if (XGetWindowAttributes(display, own, &place))
        XTranslateCoordinates(display, own, place.root, place.width / 2, place.height / 2, &x, &y, &top);
    // Tooltips are windows of this program.
    isCovered = !gdk_x11_display_error_trap_pop(gdk) && top != None && top != frame
        && !gdk_x11_surface_lookup_for_display(gdk, top);
#endif
    return isCovered;
}
// On X11, asks the window manager to put a window above others of its kind.
static inline void cadw_window_raise(GtkWindow *window) {
#ifdef GDK_WINDOWING_X11
    GdkSurface *surface = cadw_x11_surface(window);
    if (!surface) return;
    XRaiseWindow(gdk_x11_display_get_xdisplay(gdk_surface_get_display(surface)), gdk_x11_surface_get_xid(surface));
#endif
}
// Brings a window to the front, with a token of the program that the person has used; empty if there is none.
static inline void cadw_window_bring_forward(GtkWindow *window, const char *token) {
    if (*token) gtk_window_set_startup_id(window, token);
    gtk_window_present(window);
}
// Whether a window that is shown is on the screen. Any client of an X server may unmap, minimize, move into a window of its
// own, or destroy another's; with Wayland only the compositor can.
static inline gboolean cadw_window_is_seen(GtkWindow *window) {
#ifdef GDK_WINDOWING_X11
    GdkSurface *surface = cadw_x11_surface(window);
    if (!surface) return gtk_widget_get_visible(GTK_WIDGET(window));
    GdkDisplay *gdk = gdk_surface_get_display(surface);
    XWindowAttributes attributes;
    gdk_x11_display_error_trap_push(gdk);
    gboolean isViewable = XGetWindowAttributes(
        gdk_x11_display_get_xdisplay(gdk), gdk_x11_surface_get_xid(surface), &attributes)
        && attributes.map_state == IsViewable;
    // Some window managers leave minimized windows mapped.
    return !gdk_x11_display_error_trap_pop(gdk) && isViewable
        && !(gdk_toplevel_get_state(GDK_TOPLEVEL(surface)) & GDK_TOPLEVEL_STATE_MINIMIZED);
#else
    return TRUE;
#endif
}

#ifdef GDK_WINDOWING_X11
// Whether a program made this press or release of a key or a button: it was sent (XSendEvent), or comes from a device of
// the extension XTEST. A device that is gone already counts as one.
static inline gboolean cadw_x11_is_synthetic(GdkDisplay *gdk, XEvent *event) {
    Display *display = gdk_x11_display_get_xdisplay(gdk);
    if (event->type >= KeyPress && event->type <= ButtonRelease) return event->xany.send_event;
    int input, firstEvent, firstError;
    if (event->type != GenericEvent || !XQueryExtension(display, "XInputExtension", &input, &firstEvent, &firstError)
        || event->xcookie.extension != input || !event->xcookie.data)
        return FALSE;
    switch (event->xcookie.evtype) {
    case XI_KeyPress: case XI_KeyRelease: case XI_ButtonPress: case XI_ButtonRelease: break;
    default: return FALSE;
    }
    Atom type = None;
    int format;
    unsigned long count, rest;
    unsigned char *value = NULL;
    gdk_x11_display_error_trap_push(gdk);
    int result = XIGetProperty(
        display, ((XIDeviceEvent *)event->xcookie.data)->sourceid, XInternAtom(display, "XTEST Device", False), 0, 1,
        False, AnyPropertyType, &type, &format, &count, &rest, &value);
    if (gdk_x11_display_error_trap_pop(gdk) || result != Success) return TRUE;
    if (value) XFree(value);
    return type != None;
}
static inline gboolean cadw_x11_answer_event(GdkDisplay *display, gpointer event, gpointer refused) {
    if (!cadw_x11_is_synthetic(display, event)) return FALSE;
    ((void (*)(gpointer))refused)(g_object_get_data(G_OBJECT(display), "permd"));
    return TRUE;
}
G_GNUC_END_IGNORE_DEPRECATIONS
#endif
// On X11, drops what programs type and click in this program's windows, and calls `refused` with the context each time.
static inline void cadw_refuse_synthetic_input(void (*refused)(gpointer), gpointer context) {
#ifdef GDK_WINDOWING_X11
    GdkDisplay *display = gdk_display_get_default();
    if (!display || !GDK_IS_X11_DISPLAY(display)) return;
    g_object_set_data(G_OBJECT(display), "permd", context);
    g_signal_connect_data(
        display, "xevent", G_CALLBACK(cadw_x11_answer_event), (gpointer)refused, NULL, (GConnectFlags)0);
#endif
}

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

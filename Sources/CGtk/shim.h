// GTK 4 and gettext, with inline shims for what Swift cannot import: cast macros and variadic functions.
#ifndef CGTK_SHIM_H
#define CGTK_SHIM_H
#include <glib-unix.h>
#include <gtk/gtk.h>
#include <libintl.h>
#include <locale.h>
#include <signal.h>
#include <sys/resource.h>

// GTK's cast macros, which check the type at run time and log a warning on a mismatch.
static inline GtkWindow *cgtk_window(GtkWidget *widget) { return GTK_WINDOW(widget); }
static inline GtkBox *cgtk_box(GtkWidget *widget) { return GTK_BOX(widget); }
static inline GtkLabel *cgtk_label(GtkWidget *widget) { return GTK_LABEL(widget); }
static inline GtkButton *cgtk_button(GtkWidget *widget) { return GTK_BUTTON(widget); }
static inline GtkCheckButton *cgtk_check(GtkWidget *widget) { return GTK_CHECK_BUTTON(widget); }
static inline GtkImage *cgtk_image(GtkWidget *widget) { return GTK_IMAGE(widget); }
static inline GtkScrolledWindow *cgtk_scrolled(GtkWidget *widget) { return GTK_SCROLLED_WINDOW(widget); }
static inline GtkStyleProvider *cgtk_style_provider(GtkCssProvider *provider) { return GTK_STYLE_PROVIDER(provider); }
static inline GtkGestureSingle *cgtk_gesture_single(GtkGesture *gesture) { return GTK_GESTURE_SINGLE(gesture); }
static inline GtkEventController *cgtk_controller(GtkGesture *gesture) { return GTK_EVENT_CONTROLLER(gesture); }

// Settings are read here because g_object_get(3) is variadic. The caller owns the returned name; NULL if there is none.
static inline char *cgtk_theme_name(GtkSettings *settings) {
    char *name = NULL;
    g_object_get(settings, "gtk-theme-name", &name, NULL);
    return name;
}
static inline gboolean cgtk_prefers_dark(GtkSettings *settings) {
    gboolean is_dark = FALSE;
    g_object_get(settings, "gtk-application-prefer-dark-theme", &is_dark, NULL);
    return is_dark;
}
// GTK 4.12 renamed the function and deprecated the old name.
static inline void cgtk_css_load(GtkCssProvider *provider, const char *sheet) {
#if GTK_CHECK_VERSION(4, 12, 0)
    gtk_css_provider_load_from_string(provider, sheet);
#else
    gtk_css_provider_load_from_data(provider, sheet, -1);
#endif
}
static inline int cgtk_theme_priority(void) { return GTK_STYLE_PROVIDER_PRIORITY_THEME; }

// A check button that is one of several options, exposed to assistive technology as a radio button.
static inline GtkWidget *cgtk_option_new(void) {
    return g_object_new(GTK_TYPE_CHECK_BUTTON, "accessible-role", GTK_ACCESSIBLE_ROLE_RADIO, NULL);
}

// gtk_accessible_update_property(3): the description that a screen reader speaks in addition to the name.
static inline void cgtk_describe(GtkWidget *widget, const char *text) {
    gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text, -1);
}
static inline void cgtk_name(GtkWidget *widget, const char *text) {
    gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
}

// g_signal_connect_data(3) with G_CONNECT_SWAPPED: `body` receives `context` as its first argument, whatever the
// signal's own arguments.
static inline void cgtk_connect(gpointer instance, const char *signal, void (*body)(gpointer), gpointer context) {
    g_signal_connect_data(instance, signal, G_CALLBACK(body), context, NULL, G_CONNECT_SWAPPED);
}
// The same for signals whose handler returns a value, such as close-request.
static inline void cgtk_connect_answered(
    gpointer instance, const char *signal, gboolean (*body)(gpointer), gpointer context) {
    g_signal_connect_data(instance, signal, G_CALLBACK(body), context, NULL, G_CONNECT_SWAPPED);
}
// GtkEventControllerKey::key-pressed, with the arguments in their original order.
static inline void cgtk_connect_key(
    GtkEventController *keys,
    gboolean (*body)(GtkEventController *, guint, guint, GdkModifierType, gpointer), gpointer context) {
    g_signal_connect_data(keys, "key-pressed", G_CALLBACK(body), context, NULL, (GConnectFlags)0);
}
// GdkPixbufLoader::size-prepared, with the arguments in their original order.
static inline void cgtk_connect_size(GdkPixbufLoader *loader, void (*body)(GdkPixbufLoader *, int, int)) {
    g_signal_connect_data(loader, "size-prepared", G_CALLBACK(body), NULL, NULL, (GConnectFlags)0);
}

// setrlimit(2), whose resources are an enumeration in glibc: limits the data size to `memory` bytes and the CPU time to
// `seconds`, and disables core dumps. A limit that cannot be set is left unchanged.
static inline void cgtk_limit(unsigned long memory, unsigned long seconds) {
    struct rlimit data = {memory, memory}, processor = {seconds, seconds}, none = {0, 0};
    setrlimit(RLIMIT_DATA, &data);
    setrlimit(RLIMIT_CPU, &processor);
    setrlimit(RLIMIT_CORE, &none);
}
#endif

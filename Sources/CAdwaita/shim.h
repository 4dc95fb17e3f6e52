// libadwaita 1.2 and GTK 4.8, with inline shims for what Swift cannot import or cannot call without casts:
// cast macros, variadic functions, and functions that newer versions have renamed or deprecated.
#ifndef CADWAITA_SHIM_H
#define CADWAITA_SHIM_H
// The replacements of deprecated functions do not exist in libadwaita 1.2.
#define ADW_DISABLE_DEPRECATION_WARNINGS
#define GDK_DISABLE_DEPRECATION_WARNINGS
#include <adwaita.h>

// MARK: Signals and the main loop

// Connects `body`, which gets `context` as its only argument, whatever the signal's own arguments. `release` is called
// with the context when the handler is removed, at the latest with the object.
static inline void cadw_connect(
    gpointer object, const char *signal, void (*body)(gpointer), gpointer context, void (*release)(gpointer)) {
    g_signal_connect_data(object, signal, G_CALLBACK(body), context, (GClosureNotify)(void (*)(void))release, G_CONNECT_SWAPPED);
}
// The same for signals with one argument that is a pointer and a handler that returns an int, such as command-line.
static inline void cadw_connect_pointer(
    gpointer object, const char *signal, int (*body)(gpointer, gpointer, gpointer), gpointer context,
    void (*release)(gpointer)) {
    g_signal_connect_data(object, signal, G_CALLBACK(body), context, (GClosureNotify)(void (*)(void))release, (GConnectFlags)0);
}
// GtkListView::activate, which has the position of the row.
static inline void cadw_connect_position(
    gpointer object, const char *signal, void (*body)(gpointer, guint, gpointer), gpointer context,
    void (*release)(gpointer)) {
    g_signal_connect_data(object, signal, G_CALLBACK(body), context, (GClosureNotify)(void (*)(void))release, (GConnectFlags)0);
}

// MARK: The application

static inline GApplication *cadw_application_new(const char *id) {
    return G_APPLICATION(adw_application_new(id, G_APPLICATION_HANDLES_COMMAND_LINE | G_APPLICATION_HANDLES_OPEN));
}
static inline void cadw_application_add_string_option(GApplication *app, const char *name, const char *text, const char *value) {
    g_application_add_main_option(app, name, 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_STRING, text, value);
}
static inline void cadw_application_add_flag(GApplication *app, const char *name, const char *text) {
    g_application_add_main_option(app, name, 0, G_OPTION_FLAG_NONE, G_OPTION_ARG_NONE, text, NULL);
}
// The value of a string option; NULL if it was not given. The caller frees it.
static inline char *cadw_command_line_option(gpointer line, const char *name) {
    char *value = NULL;
    g_variant_dict_lookup(g_application_command_line_get_options_dict(G_APPLICATION_COMMAND_LINE(line)), name, "s", &value);
    return value;
}
// The first argument that is no option; NULL if there is none. The caller frees it.
static inline char *cadw_command_line_argument(gpointer line) {
    char **arguments = g_application_command_line_get_arguments(G_APPLICATION_COMMAND_LINE(line), NULL);
    char *first = arguments[0] && arguments[1] ? g_strdup(arguments[1]) : NULL;
    g_strfreev(arguments);
    return first;
}
// GApplication::open, which has URLs as files.
static inline void cadw_connect_open(gpointer app, void (*body)(gpointer, gpointer *, int, const char *, gpointer)) {
    g_signal_connect(app, "open", G_CALLBACK(body), NULL);
}
// The URL of a file. The caller frees it.
static inline char *cadw_url_of(gpointer file) { return g_file_get_uri(G_FILE(file)); }
static inline gboolean cadw_options_contain(gpointer options, const char *name) {
    return g_variant_dict_contains((GVariantDict *)options, name);
}
static inline void cadw_command_line_complain(gpointer line, const char *text) {
    g_application_command_line_printerr(G_APPLICATION_COMMAND_LINE(line), "%s", text);
}
static inline GtkWidget *cadw_window_new(GApplication *app) {
    return adw_application_window_new(GTK_APPLICATION(app));
}
static inline void cadw_window_set_content(GtkWidget *window, GtkWidget *content) {
    adw_application_window_set_content(ADW_APPLICATION_WINDOW(window), content);
}
static inline GtkWindow *cadw_window(GtkWidget *window) { return GTK_WINDOW(window); }
// Adds an action of the window.
static inline GSimpleAction *cadw_add_action(gpointer map, const char *name) {
    GSimpleAction *action = g_simple_action_new(name, NULL);
    g_action_map_add_action(G_ACTION_MAP(map), G_ACTION(action));
    g_object_unref(action);
    return action;
}
// Adds an action with a text to the application, where other programs reach it over D-Bus.
static inline GSimpleAction *cadw_add_text_action(gpointer map, const char *name) {
    GSimpleAction *action = g_simple_action_new(name, G_VARIANT_TYPE_STRING);
    g_action_map_add_action(G_ACTION_MAP(map), G_ACTION(action));
    g_object_unref(action);
    return action;
}
static inline const char *cadw_text_of(gpointer variant) { return g_variant_get_string((GVariant *)variant, NULL); }
static inline void cadw_set_key(GApplication *app, const char *action, const char *first, const char *second) {
    const char *keys[] = {first, second, NULL};
    gtk_application_set_accels_for_action(GTK_APPLICATION(app), action, keys);
}

// Escape in the widget activates the action, unless what has the focus uses the key itself.
static inline void cadw_escape(GtkWidget *widget, const char *action) {
    GtkEventController *keys = gtk_shortcut_controller_new();
    gtk_shortcut_controller_add_shortcut(
        GTK_SHORTCUT_CONTROLLER(keys),
        gtk_shortcut_new(gtk_keyval_trigger_new(GDK_KEY_Escape, 0), gtk_named_action_new(action)));
    gtk_widget_add_controller(widget, keys);
}
static inline void cadw_style(const char *sheet) {
    GtkCssProvider *provider = gtk_css_provider_new();
#if GTK_CHECK_VERSION(4, 12, 0)
    gtk_css_provider_load_from_string(provider, sheet);
#else
    gtk_css_provider_load_from_data(provider, sheet, -1);
#endif
    gtk_style_context_add_provider_for_display(
        gdk_display_get_default(), GTK_STYLE_PROVIDER(provider), GTK_STYLE_PROVIDER_PRIORITY_APPLICATION);
    g_object_unref(provider);
}

// MARK: Widgets. Each takes the GtkWidget that its constructor returned; the casts check the type at run time.

static inline void cadw_box_append(GtkWidget *box, GtkWidget *child) { gtk_box_append(GTK_BOX(box), child); }
static inline GtkWidget *cadw_label_new(const char *text, gboolean wraps) {
    GtkWidget *label = gtk_label_new(text);
    gtk_label_set_xalign(GTK_LABEL(label), 0);
    gtk_label_set_wrap(GTK_LABEL(label), wraps);
    gtk_label_set_wrap_mode(GTK_LABEL(label), PANGO_WRAP_WORD_CHAR);
    if (!wraps) gtk_label_set_ellipsize(GTK_LABEL(label), PANGO_ELLIPSIZE_END);
    return label;
}
static inline void cadw_label_set(GtkWidget *label, const char *text) { gtk_label_set_text(GTK_LABEL(label), text); }
static inline void cadw_label_align(GtkWidget *label, float place, GtkJustification justification) {
    gtk_label_set_xalign(GTK_LABEL(label), place);
    gtk_label_set_justify(GTK_LABEL(label), justification);
}
static inline void cadw_image_set(GtkWidget *image, const char *name, int size) {
    gtk_image_set_from_icon_name(GTK_IMAGE(image), name);
    gtk_image_set_pixel_size(GTK_IMAGE(image), size);
}
static inline void cadw_button_set_icon(GtkWidget *button, const char *name) {
    gtk_button_set_icon_name(GTK_BUTTON(button), name);
}
static inline GtkWidget *cadw_scrolled(GtkWidget *child, int most) {
    GtkWidget *scrolled = gtk_scrolled_window_new();
    gtk_scrolled_window_set_policy(GTK_SCROLLED_WINDOW(scrolled), GTK_POLICY_NEVER, GTK_POLICY_AUTOMATIC);
    gtk_scrolled_window_set_child(GTK_SCROLLED_WINDOW(scrolled), child);
    if (most > 0) {
        gtk_scrolled_window_set_propagate_natural_height(GTK_SCROLLED_WINDOW(scrolled), TRUE);
        gtk_scrolled_window_set_max_content_height(GTK_SCROLLED_WINDOW(scrolled), most);
    }
    return scrolled;
}
static inline GtkWidget *cadw_clamp(GtkWidget *child, int width) {
    GtkWidget *clamp = adw_clamp_new();
    adw_clamp_set_maximum_size(ADW_CLAMP(clamp), width);
    adw_clamp_set_child(ADW_CLAMP(clamp), child);
    return clamp;
}
// Makes a clamp of exactly that width, if its child can be that narrow, and at least that height: GTK makes the child of a
// window wider that has less height than it needs.
static inline void cadw_clamp_set_size(GtkWidget *clamp, int width, int height) {
    adw_clamp_set_maximum_size(ADW_CLAMP(clamp), width);
    adw_clamp_set_tightening_threshold(ADW_CLAMP(clamp), width);
    gtk_widget_set_size_request(clamp, width, height);
}
static inline GtkWidget *cadw_clamp_scrollable(GtkWidget *child, int width) {
    GtkWidget *clamp = adw_clamp_scrollable_new();
    adw_clamp_scrollable_set_maximum_size(ADW_CLAMP_SCROLLABLE(clamp), width);
    adw_clamp_scrollable_set_child(ADW_CLAMP_SCROLLABLE(clamp), child);
    return clamp;
}
static inline GtkWidget *cadw_stack_new(void) {
    GtkWidget *stack = gtk_stack_new();
    gtk_stack_set_transition_type(GTK_STACK(stack), GTK_STACK_TRANSITION_TYPE_CROSSFADE);
    gtk_stack_set_vhomogeneous(GTK_STACK(stack), FALSE);
    gtk_stack_set_hhomogeneous(GTK_STACK(stack), FALSE);
    return stack;
}
static inline void cadw_stack_add(GtkWidget *stack, GtkWidget *child, const char *name) {
    gtk_stack_add_named(GTK_STACK(stack), child, name);
}
static inline void cadw_stack_show(GtkWidget *stack, const char *name) {
    gtk_stack_set_visible_child_name(GTK_STACK(stack), name);
}

// MARK: Header bars and pages

static inline GtkWidget *cadw_header_new(GtkWidget *title) {
    GtkWidget *header = adw_header_bar_new();
    if (title) adw_header_bar_set_title_widget(ADW_HEADER_BAR(header), title);
    return header;
}
static inline void cadw_header_start(GtkWidget *header, GtkWidget *child) {
    adw_header_bar_pack_start(ADW_HEADER_BAR(header), child);
}
static inline void cadw_title_set(GtkWidget *title, const char *text, const char *subtitle) {
    adw_window_title_set_title(ADW_WINDOW_TITLE(title), text);
    adw_window_title_set_subtitle(ADW_WINDOW_TITLE(title), subtitle);
}
static inline void cadw_pages_add(GtkWidget *pages, GtkWidget *child, const char *name, const char *title, const char *icon) {
    AdwViewStackPage *page = adw_view_stack_add_titled(ADW_VIEW_STACK(pages), child, name, title);
    adw_view_stack_page_set_icon_name(page, icon);
}
static inline void cadw_pages_show(GtkWidget *pages, const char *name) {
    adw_view_stack_set_visible_child_name(ADW_VIEW_STACK(pages), name);
}
static inline const char *cadw_pages_shown(GtkWidget *pages) {
    return adw_view_stack_get_visible_child_name(ADW_VIEW_STACK(pages));
}
// The pages' switcher in a header bar, and the bar that replaces it in narrow windows.
static inline GtkWidget *cadw_switcher_new(GtkWidget *pages, const char *title) {
    GtkWidget *switcher = adw_view_switcher_title_new();
    adw_view_switcher_title_set_stack(ADW_VIEW_SWITCHER_TITLE(switcher), ADW_VIEW_STACK(pages));
    adw_view_switcher_title_set_title(ADW_VIEW_SWITCHER_TITLE(switcher), title);
    return switcher;
}
static inline GtkWidget *cadw_switcher_bar_new(GtkWidget *pages, GtkWidget *switcher) {
    GtkWidget *bar = adw_view_switcher_bar_new();
    adw_view_switcher_bar_set_stack(ADW_VIEW_SWITCHER_BAR(bar), ADW_VIEW_STACK(pages));
    g_object_bind_property(switcher, "title-visible", bar, "reveal", G_BINDING_SYNC_CREATE);
    return bar;
}
static inline GtkWidget *cadw_status_new(const char *icon, const char *title) {
    GtkWidget *page = adw_status_page_new();
    adw_status_page_set_icon_name(ADW_STATUS_PAGE(page), icon);
    adw_status_page_set_title(ADW_STATUS_PAGE(page), title);
    return page;
}
// `text` is plain text.
static inline void cadw_status_set(GtkWidget *page, const char *icon, const char *title, const char *text, GtkWidget *child) {
    char *escaped = g_markup_escape_text(text, -1);
    adw_status_page_set_icon_name(ADW_STATUS_PAGE(page), icon);
    adw_status_page_set_title(ADW_STATUS_PAGE(page), title);
    adw_status_page_set_description(ADW_STATUS_PAGE(page), escaped);
    adw_status_page_set_child(ADW_STATUS_PAGE(page), child);
    g_free(escaped);
}

// MARK: Rows

static inline GtkWidget *cadw_group_new(const char *title) {
    GtkWidget *group = adw_preferences_group_new();
    char *escaped = g_markup_escape_text(title, -1);
    adw_preferences_group_set_title(ADW_PREFERENCES_GROUP(group), escaped);
    g_free(escaped);
    return group;
}
static inline void cadw_group_add(GtkWidget *group, GtkWidget *row) {
    adw_preferences_group_add(ADW_PREFERENCES_GROUP(group), row);
}
static inline void cadw_group_remove(GtkWidget *group, GtkWidget *row) {
    adw_preferences_group_remove(ADW_PREFERENCES_GROUP(group), row);
}
// A row whose texts are plain text, never markup.
static inline GtkWidget *cadw_row_new(void) {
    GtkWidget *row = adw_action_row_new();
    adw_preferences_row_set_use_markup(ADW_PREFERENCES_ROW(row), FALSE);
    return row;
}
static inline GtkWidget *cadw_combo_row_new(void) {
    GtkWidget *row = adw_combo_row_new();
    adw_preferences_row_set_use_markup(ADW_PREFERENCES_ROW(row), FALSE);
    return row;
}
static inline void cadw_row_set(GtkWidget *row, const char *title, const char *subtitle) {
    adw_preferences_row_set_title(ADW_PREFERENCES_ROW(row), title);
    adw_action_row_set_subtitle(ADW_ACTION_ROW(row), subtitle);
}
static inline void cadw_row_add_prefix(GtkWidget *row, GtkWidget *child) { adw_action_row_add_prefix(ADW_ACTION_ROW(row), child); }
static inline void cadw_row_add_suffix(GtkWidget *row, GtkWidget *child) { adw_action_row_add_suffix(ADW_ACTION_ROW(row), child); }
static inline void cadw_row_set_activatable(GtkWidget *row, gboolean is) { gtk_list_box_row_set_activatable(GTK_LIST_BOX_ROW(row), is); }
static inline void cadw_row_set_activatable_widget(GtkWidget *row, GtkWidget *child) {
    adw_action_row_set_activatable_widget(ADW_ACTION_ROW(row), child);
}
static inline void cadw_combo_set_strings(GtkWidget *row, GtkStringList *strings) {
    adw_combo_row_set_model(ADW_COMBO_ROW(row), G_LIST_MODEL(strings));
}
static inline void cadw_combo_select(GtkWidget *row, guint selected) { adw_combo_row_set_selected(ADW_COMBO_ROW(row), selected); }
static inline guint cadw_combo_selected(GtkWidget *row) { return adw_combo_row_get_selected(ADW_COMBO_ROW(row)); }
static inline gboolean cadw_is_popover(GtkWidget *widget) { return GTK_IS_POPOVER(widget); }
static inline void cadw_list_box_append(GtkWidget *box, GtkWidget *row) { gtk_list_box_append(GTK_LIST_BOX(box), row); }
static inline void cadw_list_box_remove(GtkWidget *box, GtkWidget *row) { gtk_list_box_remove(GTK_LIST_BOX(box), row); }
static inline GtkWidget *cadw_list_box_new(void) {
    GtkWidget *box = gtk_list_box_new();
    gtk_list_box_set_selection_mode(GTK_LIST_BOX(box), GTK_SELECTION_NONE);
    gtk_widget_add_css_class(box, "boxed-list");
    return box;
}

// MARK: Search and filters

static inline GtkWidget *cadw_search_new(const char *hint) {
    GtkWidget *entry = gtk_search_entry_new();
    g_object_set(entry, "placeholder-text", hint, NULL);
    return entry;
}
static inline const char *cadw_search_text(GtkWidget *entry) { return gtk_editable_get_text(GTK_EDITABLE(entry)); }
static inline void cadw_search_set(GtkWidget *entry, const char *text) { gtk_editable_set_text(GTK_EDITABLE(entry), text); }
static inline GtkWidget *cadw_drop_down_new(const char *const *choices, gboolean isSearchable) {
    GtkExpression *text = gtk_property_expression_new(GTK_TYPE_STRING_OBJECT, NULL, "string");
    GtkWidget *menu = gtk_drop_down_new(G_LIST_MODEL(gtk_string_list_new(choices)), text);
    gtk_drop_down_set_enable_search(GTK_DROP_DOWN(menu), isSearchable);
    return menu;
}
static inline void cadw_drop_down_set(GtkWidget *menu, const char *const *choices, guint selected) {
    GtkStringList *list = gtk_string_list_new(choices);
    gtk_drop_down_set_model(GTK_DROP_DOWN(menu), G_LIST_MODEL(list));
    g_object_unref(list);
    gtk_drop_down_set_selected(GTK_DROP_DOWN(menu), selected);
}
// Side by side, or below each other if the window is narrow.
static inline GtkWidget *cadw_flow_new(int most) {
    GtkWidget *flow = gtk_flow_box_new();
    gtk_flow_box_set_selection_mode(GTK_FLOW_BOX(flow), GTK_SELECTION_NONE);
    gtk_flow_box_set_homogeneous(GTK_FLOW_BOX(flow), TRUE);
    gtk_flow_box_set_max_children_per_line(GTK_FLOW_BOX(flow), most);
    gtk_flow_box_set_column_spacing(GTK_FLOW_BOX(flow), 6);
    gtk_flow_box_set_row_spacing(GTK_FLOW_BOX(flow), 6);
    return flow;
}
static inline void cadw_flow_add(GtkWidget *flow, GtkWidget *widget) {
    gtk_flow_box_append(GTK_FLOW_BOX(flow), widget);
    // Not the child that the flow box makes, only the widget takes the focus.
    gtk_widget_set_focusable(gtk_widget_get_parent(widget), FALSE);
}
static inline guint cadw_drop_down_selected(GtkWidget *menu) { return gtk_drop_down_get_selected(GTK_DROP_DOWN(menu)); }
static inline void cadw_drop_down_select(GtkWidget *menu, guint place) { gtk_drop_down_set_selected(GTK_DROP_DOWN(menu), place); }

// MARK: Long lists

static inline GtkStringList *cadw_strings_new(void) { return gtk_string_list_new(NULL); }
// A list view of `strings` with rows that `setup` and `bind` make: GtkSignalListItemFactory has the item as argument.
static inline GtkWidget *cadw_list_view_new(
    GtkStringList *strings, void (*setup)(gpointer, gpointer, gpointer), void (*bind)(gpointer, gpointer, gpointer),
    gpointer context) {
    GtkListItemFactory *factory = gtk_signal_list_item_factory_new();
    g_signal_connect(factory, "setup", G_CALLBACK(setup), context);
    g_signal_connect(factory, "bind", G_CALLBACK(bind), context);
    GtkNoSelection *selection = gtk_no_selection_new(G_LIST_MODEL(g_object_ref(strings)));
    GtkWidget *view = gtk_list_view_new(GTK_SELECTION_MODEL(selection), factory);
    gtk_list_view_set_single_click_activate(GTK_LIST_VIEW(view), TRUE);
    return view;
}
static inline void cadw_list_item_set_child(gpointer item, GtkWidget *child) {
    gtk_list_item_set_child(GTK_LIST_ITEM(item), child);
}
static inline GtkWidget *cadw_list_item_child(gpointer item) { return gtk_list_item_get_child(GTK_LIST_ITEM(item)); }
static inline guint cadw_list_item_position(gpointer item) { return gtk_list_item_get_position(GTK_LIST_ITEM(item)); }
static inline void cadw_list_item_set_activatable(gpointer item, gboolean is) {
    gtk_list_item_set_activatable(GTK_LIST_ITEM(item), is);
}
// Before GTK 4.12, assistive technology reads the labels in the row instead.
static inline void cadw_list_item_set_name(gpointer item, const char *name, const char *description) {
#if GTK_CHECK_VERSION(4, 12, 0)
    gtk_list_item_set_accessible_label(GTK_LIST_ITEM(item), name);
    gtk_list_item_set_accessible_description(GTK_LIST_ITEM(item), description);
#endif
}

// MARK: Messages

// `text` is plain text. `body` is called if the button is clicked.
static inline AdwToast *cadw_toast_new(const char *text, const char *button, guint seconds) {
    char *escaped = g_markup_escape_text(text, -1);
    AdwToast *toast = adw_toast_new(escaped);
    g_free(escaped);
    if (button) adw_toast_set_button_label(toast, button);
    adw_toast_set_timeout(toast, seconds);
    adw_toast_set_priority(toast, ADW_TOAST_PRIORITY_HIGH);
    return toast;
}
static inline void cadw_toast_show(GtkWidget *overlay, AdwToast *toast) {
    adw_toast_overlay_add_toast(ADW_TOAST_OVERLAY(overlay), toast);
}
static inline void cadw_toast_overlay_set_child(GtkWidget *overlay, GtkWidget *child) {
    adw_toast_overlay_set_child(ADW_TOAST_OVERLAY(overlay), child);
}

// MARK: Accessibility

static inline void cadw_name(GtkWidget *widget, const char *text) {
    gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_LABEL, text, -1);
}
static inline void cadw_describe(GtkWidget *widget, const char *text) {
    gtk_accessible_update_property(GTK_ACCESSIBLE(widget), GTK_ACCESSIBLE_PROPERTY_DESCRIPTION, text, -1);
}
static inline gboolean cadw_has_icon(const char *name) {
    GdkDisplay *display = gdk_display_get_default();
    return display && gtk_icon_theme_has_icon(gtk_icon_theme_get_for_display(display), name);
}

// MARK: Other processes

// For a program whose output is read and whose errors are not shown. Swift has another form for GLib's flags since GLib
// declares them as such.
static inline GSubprocessLauncher *cadw_reading_launcher_new(void) {
    return g_subprocess_launcher_new(G_SUBPROCESS_FLAGS_STDOUT_PIPE | G_SUBPROCESS_FLAGS_STDERR_SILENCE);
}

// MARK: The owner of a bus name

// Calls `appeared` or `vanished` when the name has or has no owner, the first time soon. Never starts the owner.
static inline void cadw_watch_name(
    const char *name, void (*appeared)(GDBusConnection *, const char *, const char *, gpointer),
    void (*vanished)(GDBusConnection *, const char *, gpointer), gpointer context) {
    g_bus_watch_name(G_BUS_TYPE_SESSION, name, G_BUS_NAME_WATCHER_FLAGS_NONE, appeared, vanished, context, NULL);
}
#endif

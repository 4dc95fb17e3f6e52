/* A browser whose pages have the person asked, through permd, before they use the camera, the microphone or the location.
 * WebKitGTK asks nobody itself: it leaves that to the program.
 *
 *   cc -o browser browser.c $(pkg-config --cflags --libs webkit2gtk-4.1)
 */

#include <webkit2/webkit2.h>

static GDBusConnection *bus;

struct question { WebKitPermissionRequest *request; guint match; };

static void answer(struct question *question, gboolean is_granted)
{
	g_dbus_connection_signal_unsubscribe(bus, question->match);
	(is_granted ? webkit_permission_request_allow : webkit_permission_request_deny)(question->request);
	g_object_unref(question->request);
	g_free(question);
}

static void responded(GDBusConnection *connection, const char *sender, const char *path, const char *interface,
		      const char *signal, GVariant *response, void *question)
{
	guint32 code;
	const char *refused = NULL;
	g_autoptr(GVariant) results = NULL;

	g_variant_get(response, "(u@a{sv})", &code, &results);
	answer(question, code == 0 && g_variant_lookup(results, "refused", "&s", &refused) && !*refused);
}

static void called(GObject *connection, GAsyncResult *reply, void *question)
{
	g_autoptr(GError) error = NULL;
	g_autoptr(GVariant) handle = g_dbus_connection_call_finish(bus, reply, &error);

	if (handle)
		return;
	g_printerr("permd: %s\n", error->message);
	answer(question, FALSE);
}

static gboolean ask(WebKitWebView *view, WebKitPermissionRequest *request)
{
	static const char *const names[] = { "camera", "microphone", "location" };
	WebKitUserMediaPermissionRequest *media =
		WEBKIT_IS_USER_MEDIA_PERMISSION_REQUEST(request) ? (void *)request : NULL;
	const gboolean wanted[] = {
		media && webkit_user_media_permission_is_for_video_device(media),
		media && webkit_user_media_permission_is_for_audio_device(media),
		WEBKIT_IS_GEOLOCATION_PERMISSION_REQUEST(request),
	};
	g_autoptr(GUri) uri = g_uri_parse(webkit_web_view_get_uri(view), G_URI_FLAGS_NONE, NULL);
	g_autofree char *reason = g_strdup_printf("For %s", uri && g_uri_get_host(uri) ? g_uri_get_host(uri) : "a page");
	g_autofree char *token = g_strdup_printf("page_%p", (void *)request);
	g_autofree char *sender = g_strdelimit(g_strdup(g_dbus_connection_get_unique_name(bus) + 1), ".", '_');
	g_autofree char *path = g_strdup_printf("/org/permd/request/%s/%s", sender, token);
	GVariantBuilder permissions = G_VARIANT_BUILDER_INIT(G_VARIANT_TYPE("as"));
	GVariantBuilder reasons = G_VARIANT_BUILDER_INIT(G_VARIANT_TYPE("a{ss}"));

	for (int i = 0; i < 3; i++) {
		if (!wanted[i])
			continue;
		g_variant_builder_add(&permissions, "s", names[i]);
		g_variant_builder_add(&reasons, "{ss}", names[i], reason);
	}
	g_autoptr(GVariant) list = g_variant_ref_sink(g_variant_builder_end(&permissions));
	g_autoptr(GVariant) table = g_variant_ref_sink(g_variant_builder_end(&reasons));
	if (g_variant_n_children(list) == 0)
		return FALSE;
	struct question *question = g_new0(struct question, 1);

	question->request = g_object_ref(request);
	question->match = g_dbus_connection_signal_subscribe(
		bus, "org.permd", "org.permd.Request1", "Response", path, NULL, 0, responded, question, NULL);
	g_dbus_connection_call(
		bus, "org.permd", "/org/permd", "org.permd.Access1", "RequestAccess",
		g_variant_new_parsed("(%@as, {'handle_token': <%s>, 'reasons': <%@a{ss}>})", list, token, table),
		NULL, 0, G_MAXINT, NULL, called, question);
	return TRUE;
}

int main(int count, char **words)
{
	gtk_init(&count, &words);
	bus = g_bus_get_sync(G_BUS_TYPE_SESSION, NULL, NULL);
	if (!bus || count < 2)
		g_error("usage: browser URL, in a session");
	GtkWidget *window = gtk_window_new(GTK_WINDOW_TOPLEVEL), *view = webkit_web_view_new();

	webkit_settings_set_enable_media_stream(webkit_web_view_get_settings(WEBKIT_WEB_VIEW(view)), TRUE);
	g_signal_connect(view, "permission-request", G_CALLBACK(ask), NULL);
	g_signal_connect(window, "destroy", gtk_main_quit, NULL);
	gtk_container_add(GTK_CONTAINER(window), view);
	webkit_web_view_load_uri(WEBKIT_WEB_VIEW(view), words[1]);
	gtk_widget_show_all(window);
	gtk_main();
	return 0;
}

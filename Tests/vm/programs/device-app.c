/* An application in the guest: requests a permission, has permd open the device, and reads from the descriptor.
 *
 *   device-app PERMISSION NODE   first tries to open NODE itself and prints the result
 *   device-app tone NODE         plays a tone on a sound card until it is killed
 */

#include "capture.h"

#include <dbus/dbus.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void die(const char *what, DBusError *error)
{
	printf("%s: %s: %s\n", what, error->name ? error->name : "error", error->message ? error->message : "no memory");
	exit(1);
}

static DBusMessage *access_call(const char *member)
{
	return dbus_message_new_method_call("org.permd", "/org/permd", "org.permd.Access1", member);
}

static void append_no_options(DBusMessageIter *arguments)
{
	DBusMessageIter options;

	dbus_message_iter_open_container(arguments, DBUS_TYPE_ARRAY, "{sv}", &options);
	dbus_message_iter_close_container(arguments, &options);
}

static DBusMessage *send_and_wait(DBusConnection *bus, DBusMessage *call)
{
	DBusError error = DBUS_ERROR_INIT;
	DBusMessage *reply = dbus_connection_send_with_reply_and_block(bus, call, 60000, &error);

	if (!reply)
		die(dbus_message_get_member(call), &error);
	dbus_message_unref(call);
	return reply;
}

/* Sends the request and waits for its Response. The result is ignored: OpenDevice fails without a grant. */
static void request(DBusConnection *bus, const char *permission)
{
	DBusMessage *call = access_call("RequestAccess");
	DBusMessage *message;
	DBusMessageIter arguments, names;

	dbus_message_iter_init_append(call, &arguments);
	dbus_message_iter_open_container(&arguments, DBUS_TYPE_ARRAY, "s", &names);
	dbus_message_iter_append_basic(&names, DBUS_TYPE_STRING, &permission);
	dbus_message_iter_close_container(&arguments, &names);
	append_no_options(&arguments);
	dbus_message_unref(send_and_wait(bus, call));
	for (;;) {
		while ((message = dbus_connection_pop_message(bus))) {
			int is_response = dbus_message_is_signal(message, "org.permd.Request1", "Response");

			dbus_message_unref(message);
			if (is_response)
				return;
		}
		if (!dbus_connection_read_write(bus, 60000)) {
			puts("the bus closed the connection");
			exit(1);
		}
	}
}

static int open_device(DBusConnection *bus, const char *permission, const char *node)
{
	DBusError error = DBUS_ERROR_INIT;
	DBusMessage *call = access_call("OpenDevice");
	DBusMessage *reply;
	DBusMessageIter arguments;
	int fd;

	dbus_message_iter_init_append(call, &arguments);
	dbus_message_iter_append_basic(&arguments, DBUS_TYPE_STRING, &permission);
	dbus_message_iter_append_basic(&arguments, DBUS_TYPE_STRING, &node);
	append_no_options(&arguments);
	reply = send_and_wait(bus, call);
	if (!dbus_message_get_args(reply, &error, DBUS_TYPE_UNIX_FD, &fd, DBUS_TYPE_INVALID))
		die("OpenDevice", &error);
	dbus_message_unref(reply);
	return fd;
}

static int read_from(int fd, const char *permission)
{
	if (strcmp(permission, "camera") == 0)
		return capture_frame(fd);
	if (strcmp(permission, "microphone") == 0)
		return capture_samples(fd);
	return capture_sentence(fd);
}

int main(int count, char **words)
{
	DBusError error = DBUS_ERROR_INIT;
	DBusConnection *bus;
	int own;

	if (count != 3) {
		fputs("usage: device-app PERMISSION NODE | device-app tone NODE\n", stderr);
		return 64;
	}
	if (strcmp(words[1], "tone") == 0)
		return play_tone(words[2]);
	own = open(words[2], O_RDWR | O_NONBLOCK | O_CLOEXEC);
	printf("by itself: %s\n", own < 0 ? strerror(errno) : "opened");
	if (own >= 0)
		close(own);
	bus = dbus_bus_get(DBUS_BUS_SESSION, &error);
	if (!bus)
		die("the session bus", &error);
	request(bus, words[1]);
	printf("by permd: ");
	fflush(stdout);
	return read_from(open_device(bus, words[1], words[2]), words[1]);
}

/* The lower bound of every latency: a C service on libdbus that answers GetStatus with a constant. It also replaces the
   location service, so that there is a device to request: libdbus answers the pings. */
#include <dbus/dbus.h>
#include <stdio.h>
#include <string.h>

static DBusHandlerResult answer(DBusConnection *bus, DBusMessage *call, void *unused) {
    (void)unused;
    if (dbus_message_get_type(call) != DBUS_MESSAGE_TYPE_METHOD_CALL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    if (strcmp(dbus_message_get_member(call), "GetStatus") != 0) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;

    DBusMessageIter asked, names, body, table;
    dbus_message_iter_init(call, &asked);
    if (dbus_message_iter_get_arg_type(&asked) != DBUS_TYPE_ARRAY) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    DBusMessage *reply = dbus_message_new_method_return(call);
    dbus_message_iter_init_append(reply, &body);
    dbus_message_iter_open_container(&body, DBUS_TYPE_ARRAY, "{ss}", &table);
    dbus_message_iter_recurse(&asked, &names);
    while (dbus_message_iter_get_arg_type(&names) == DBUS_TYPE_STRING) {
        const char *name, *status = "denied";
        DBusMessageIter entry;
        dbus_message_iter_get_basic(&names, &name);
        dbus_message_iter_open_container(&table, DBUS_TYPE_DICT_ENTRY, NULL, &entry);
        dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &name);
        dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &status);
        dbus_message_iter_close_container(&table, &entry);
        dbus_message_iter_next(&names);
    }
    dbus_message_iter_close_container(&body, &table);
    dbus_connection_send(bus, reply, NULL);
    dbus_message_unref(reply);
    return DBUS_HANDLER_RESULT_HANDLED;
}

int main(void) {
    DBusError error = DBUS_ERROR_INIT;
    DBusConnection *bus = dbus_bus_get(DBUS_BUS_SESSION, &error);
    if (bus == NULL) {
        fprintf(stderr, "echo: %s\n", error.message);
        return 1;
    }
    dbus_connection_add_filter(bus, answer, NULL, NULL);
    dbus_bus_request_name(bus, "org.permd.bench.Echo", DBUS_NAME_FLAG_DO_NOT_QUEUE, NULL);
    dbus_bus_request_name(bus, "org.freedesktop.GeoClue2", DBUS_NAME_FLAG_DO_NOT_QUEUE, NULL);
    /* Exits when the bus does. */
    while (dbus_connection_read_write_dispatch(bus, -1)) {}
    return 0;
}

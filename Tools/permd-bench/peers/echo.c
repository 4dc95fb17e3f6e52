/* The lower bound of every latency: a C service on libdbus that has the names of its arguments. It answers GetStatus and
   a property with constants, and Notify with as many signals as asked for, each as long as a notification of a Bluetooth
   device. It also replaces the location service, so that there is a device to request: libdbus answers the pings. */
#include <dbus/dbus.h>
#include <stdio.h>
#include <string.h>

static const char *device = "/org/bluez/hci0/dev_00_11_22_33_44_55/service0010/char0011";

static void append_value(DBusMessageIter *body, const char *type, const void *value) {
    DBusMessageIter variant;
    dbus_message_iter_open_container(body, DBUS_TYPE_VARIANT, type, &variant);
    dbus_message_iter_append_basic(&variant, *type, value);
    dbus_message_iter_close_container(body, &variant);
}

static void notify(DBusConnection *bus, unsigned count) {
    const char *interface = "org.bluez.GattCharacteristic1", *name = "Value", *value = "twenty bytes of it..";
    DBusMessage *signal = dbus_message_new_signal(device, "org.freedesktop.DBus.Properties", "PropertiesChanged");
    DBusMessageIter body, table, entry, none;
    dbus_message_iter_init_append(signal, &body);
    dbus_message_iter_append_basic(&body, DBUS_TYPE_STRING, &interface);
    dbus_message_iter_open_container(&body, DBUS_TYPE_ARRAY, "{sv}", &table);
    dbus_message_iter_open_container(&table, DBUS_TYPE_DICT_ENTRY, NULL, &entry);
    dbus_message_iter_append_basic(&entry, DBUS_TYPE_STRING, &name);
    append_value(&entry, DBUS_TYPE_STRING_AS_STRING, &value);
    dbus_message_iter_close_container(&table, &entry);
    dbus_message_iter_close_container(&body, &table);
    dbus_message_iter_open_container(&body, DBUS_TYPE_ARRAY, "s", &none);
    dbus_message_iter_close_container(&body, &none);
    while (count-- > 0) {
        DBusMessage *next = dbus_message_copy(signal);
        dbus_connection_send(bus, next, NULL);
        dbus_message_unref(next);
        if (count % 100 == 0) dbus_connection_flush(bus);
    }
    dbus_message_unref(signal);
}

static DBusHandlerResult answer(DBusConnection *bus, DBusMessage *call, void *unused) {
    (void)unused;
    if (dbus_message_get_type(call) != DBUS_MESSAGE_TYPE_METHOD_CALL) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;
    DBusMessageIter asked, names, body, table;
    dbus_uint32_t count = 0;
    if (dbus_message_is_method_call(call, "org.freedesktop.DBus.Properties", "Get")) {
        DBusMessage *reply = dbus_message_new_method_return(call);
        dbus_bool_t powered = TRUE;
        dbus_message_iter_init_append(reply, &body);
        append_value(&body, DBUS_TYPE_BOOLEAN_AS_STRING, &powered);
        dbus_connection_send(bus, reply, NULL);
        dbus_message_unref(reply);
        return DBUS_HANDLER_RESULT_HANDLED;
    }
    if (dbus_message_has_member(call, "Notify") &&
        dbus_message_get_args(call, NULL, DBUS_TYPE_UINT32, &count, DBUS_TYPE_INVALID)) {
        notify(bus, count);
        return DBUS_HANDLER_RESULT_HANDLED;
    }
    if (strcmp(dbus_message_get_member(call), "GetStatus") != 0) return DBUS_HANDLER_RESULT_NOT_YET_HANDLED;

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

int main(int count, char **names) {
    DBusError error = DBUS_ERROR_INIT;
    DBusConnection *bus = dbus_bus_get(DBUS_BUS_SESSION, &error);
    if (bus == NULL) {
        fprintf(stderr, "echo: %s\n", error.message);
        return 1;
    }
    dbus_connection_add_filter(bus, answer, NULL, NULL);
    for (int i = 1; i < count; i++) dbus_bus_request_name(bus, names[i], DBUS_NAME_FLAG_DO_NOT_QUEUE, NULL);
    /* Exits when the bus does. */
    while (dbus_connection_read_write_dispatch(bus, -1)) {}
    return 0;
}

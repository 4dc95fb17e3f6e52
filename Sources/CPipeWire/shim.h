// libpipewire, with inline shims for what Swift cannot import: its methods are macros over tables of functions.
#ifndef CPIPEWIRE_SHIM_H
#define CPIPEWIRE_SHIM_H
#include <pipewire/extensions/metadata.h>
#include <pipewire/impl.h>
#include <pipewire/pipewire.h>

// The loop, which permd's own loop drives.
static inline int cpipewire_loop_fd(struct pw_loop *loop) { return pw_loop_get_fd(loop); }
static inline void cpipewire_loop_enter(struct pw_loop *loop) { pw_loop_enter(loop); }
static inline void cpipewire_loop_leave(struct pw_loop *loop) { pw_loop_leave(loop); }
// Handles what is ready, without waiting.
static inline int cpipewire_loop_iterate(struct pw_loop *loop) { return pw_loop_iterate(loop, 0); }

// The core.
static inline void cpipewire_core_listen(
    struct pw_core *core, struct spa_hook *hook, const struct pw_core_events *events, void *context) {
    pw_core_add_listener(core, hook, events, context);
}
static inline struct pw_registry *cpipewire_core_registry(struct pw_core *core) {
    return pw_core_get_registry(core, PW_VERSION_REGISTRY, 0);
}
static inline int cpipewire_core_sync(struct pw_core *core, uint32_t id, int sequence) {
    return pw_core_sync(core, id, sequence);
}
static inline struct pw_proxy *cpipewire_core_create(
    struct pw_core *core, const char *factory, const char *type, uint32_t version, const struct spa_dict *properties) {
    return (struct pw_proxy *)pw_core_create_object(core, factory, type, version, properties, 0);
}

// The registry.
static inline void cpipewire_registry_listen(
    struct pw_registry *registry, struct spa_hook *hook, const struct pw_registry_events *events, void *context) {
    pw_registry_add_listener(registry, hook, events, context);
}
static inline void *cpipewire_registry_bind(
    struct pw_registry *registry, uint32_t id, const char *type, uint32_t version) {
    return pw_registry_bind(registry, id, type, version, 0);
}
static inline void cpipewire_registry_destroy(struct pw_registry *registry, uint32_t id) {
    pw_registry_destroy(registry, id);
}

// Clients, nodes and metadata.
static inline void cpipewire_client_listen(
    void *client, struct spa_hook *hook, const struct pw_client_events *events, void *context) {
    pw_client_add_listener((struct pw_client *)client, hook, events, context);
}
static inline void cpipewire_client_permit(void *client, uint32_t count, const struct pw_permission *permissions) {
    pw_client_update_permissions((struct pw_client *)client, count, permissions);
}
static inline void cpipewire_node_listen(
    void *node, struct spa_hook *hook, const struct pw_node_events *events, void *context) {
    pw_node_add_listener((struct pw_node *)node, hook, events, context);
}
static inline void cpipewire_metadata_listen(
    void *metadata, struct spa_hook *hook, const struct pw_metadata_events *events, void *context) {
    pw_metadata_add_listener((struct pw_metadata *)metadata, hook, events, context);
}
static inline void cpipewire_metadata_set(
    void *metadata, uint32_t subject, const char *key, const char *type, const char *value) {
    pw_metadata_set_property((struct pw_metadata *)metadata, subject, key, type, value);
}

// The value of a property; NULL if there is none.
static inline const char *cpipewire_dict_get(const struct spa_dict *properties, const char *key) {
    return spa_dict_lookup(properties, key);
}

// Versions of the event tables above, which are macros in some releases.
static const uint32_t CPIPEWIRE_CORE_EVENTS = PW_VERSION_CORE_EVENTS;
static const uint32_t CPIPEWIRE_REGISTRY_EVENTS = PW_VERSION_REGISTRY_EVENTS;
static const uint32_t CPIPEWIRE_CLIENT_EVENTS = PW_VERSION_CLIENT_EVENTS;
static const uint32_t CPIPEWIRE_NODE_EVENTS = PW_VERSION_NODE_EVENTS;
static const uint32_t CPIPEWIRE_METADATA_EVENTS = PW_VERSION_METADATA_EVENTS;
// Versions of the interfaces.
static const uint32_t CPIPEWIRE_CLIENT = PW_VERSION_CLIENT;
static const uint32_t CPIPEWIRE_NODE = PW_VERSION_NODE;
static const uint32_t CPIPEWIRE_LINK = PW_VERSION_LINK;
static const uint32_t CPIPEWIRE_METADATA = PW_VERSION_METADATA;
// What an event reports: without these, its properties are empty.
static const uint64_t CPIPEWIRE_CLIENT_PROPERTIES = PW_CLIENT_CHANGE_MASK_PROPS;
static const uint64_t CPIPEWIRE_NODE_PROPERTIES = PW_NODE_CHANGE_MASK_PROPS;
// A permission that removes what was set for one object, so that the one for all objects applies.
static const uint32_t CPIPEWIRE_UNSET = PW_PERM_INVALID;
static const uint32_t CPIPEWIRE_ALL = PW_PERM_ALL;
static const uint32_t CPIPEWIRE_ID_CORE = PW_ID_CORE;

#endif

-- The rights of clients that PipeWire itself does not trust: they see sources while they may record, and never see
-- permd-pipewire, WirePlumber and its metadata "permd", since they may end what they see.

local marks = require ("permd/marks")
local rights = {}
-- The nodes of all sources, by ID.
local sources = {}
local metadata_om = ObjectManager { Interest { type = "metadata", Constraint { "metadata.name", "=", "permd" } } }

function rights.is_trusted (client)
  local access = client.properties["pipewire.access"]
  return access == "unrestricted" or access == "allowed"
end

local function is_of_portal (client)
  return client.properties["pipewire.access"] == "portal"
end

-- The rights of a sandboxed client that manages what others play: all while it may record. Nil for other clients.
local function of_manager (client)
  local is_manager = client.properties["pipewire.access"] == "flatpak" and
      client.properties["media.category"] == "Manager"
  return is_manager and (marks.is_marked (client, "microphone") and "all" or "rx") or nil
end

-- What WirePlumber 0.4, which has no hooks, leaves to permd: 60-permd.lua. Nil for other clients.
local function first (client)
  local access = client.properties["pipewire.access"]
  local has_none = not SimpleEventHook and (access == "flatpak" or access == "restricted")
  return has_none and (of_manager (client) or "rx") or nil
end

-- No rights on permd-pipewire, WirePlumber, which has several clients, and its metadata; sandboxed clients may have
-- some of these names, too.
local function on_hidden ()
  local none, processes = {}, {}
  for metadata in metadata_om:iterate () do
    local owner = marks.find (marks.clients, "bound-id", metadata["global-properties"]["client.id"])
    if owner and rights.is_trusted (owner) then
      none[metadata["bound-id"]] = "-"
      processes[owner.properties["pipewire.sec.pid"] or ""] = true
    end
  end
  for client in marks.clients:iterate () do
    local is_owner = processes[client.properties["pipewire.sec.pid"] or ""]
    if rights.is_trusted (client) and (is_owner or client.properties["application.name"] == "permd-pipewire") then
      none[client["bound-id"]] = "-"
    end
  end
  return none
end

local function hide (none, client)
  -- WirePlumber 0.4 does not survive an empty table.
  if next (none) and not rights.is_trusted (client) then
    client:update_permissions (none)
  end
end

-- A client or metadata that was added may be one of those.
local function hide_if_hidden (object, none)
  if none[object["bound-id"]] then
    for client in marks.clients:iterate () do
      hide (none, client)
    end
  end
end

-- Such clients could make links without WirePlumber. They lose sight of the sources together with their first rights.
-- permd-pipewire gives them back when it marks the client, and again when it is told that the mark was made: in case
-- this came between the two. A marked client sees the sources before its streams are linked: the PulseAudio server
-- waits for ever for one that it cannot see.
local function set_on (source, client)
  local needed = marks.permission (source)
  if needed and not rights.is_trusted (client) and source.properties["node.name"] ~= "permd.silence" then
    local given = marks.is_marked (client, needed) and (of_manager (client) or "rx") or "-"
    client:update_permissions { [source["bound-id"]] = given }
  end
end

-- A mark of the client was made or removed.
function rights.set (client, key)
  local all = of_manager (client)
  if all then
    client:update_permissions { any = all }
  end
  for _, source in pairs (marks.is_marked (client, key) and sources or {}) do
    if marks.permission (source) == key then
      set_on (source, client)
    end
  end
end

function rights.source_added (node)
  sources[node["bound-id"]] = node
  for client in marks.clients:iterate () do
    set_on (node, client)
  end
end

function rights.source_removed (id)
  sources[id] = nil
end

-- Versions of PipeWire after 1.6 keep a portal's client waiting until the session manager has set its rights.
local function let_go (client)
  if client.properties["pipewire.access.portal.gated"] == "true" then
    client:update_permissions { [0] = "all" }
  end
end

function rights.client_added (client)
  local none, given = on_hidden (), first (client)
  hide (none, client)
  hide_if_hidden (client, none)
  for _, source in pairs (sources) do
    set_on (source, client)
  end
  if given then
    client:update_permissions { any = given }
  end
  if PermissionManager and is_of_portal (client) then
    client:connect ("notify::properties", let_go)
    let_go (client)
  end
end

-- WirePlumber 0.5.15 and later have a manager of the rights of portals' clients. It gives them all rights, and cameras,
-- again when objects come or go: also to one that may look at a screen only. They keep what their portals have left them.
local function leave_portals ()
  SimpleEventHook {
    name = "permd/leave-portals",
    after = { "client/find-portal-access", "client/find-default-access" }, before = "client/apply-access",
    interests = { EventInterest { Constraint { "event.type", "=", "select-access" } } },
    execute = function (event)
      if is_of_portal (event:get_subject ()) then
        event:set_data ("permission-manager", nil)
      end
    end,
  }:register ()
end

function rights.start ()
  if PermissionManager then
    leave_portals ()
  end
  metadata_om:connect ("object-added", function (_, metadata)
    hide_if_hidden (metadata, on_hidden ())
  end)
  metadata_om:activate ()
end

return rights

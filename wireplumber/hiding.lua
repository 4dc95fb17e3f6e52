-- Hides permd-pipewire, WirePlumber and its metadata "permd" from clients that PipeWire itself does not trust: they may
-- have the rights to end what they see.

-- Global, because the script engine would collect locals when the script has run.
hiding_clients_om = ObjectManager { Interest { type = "client" } }
hiding_marks_om = ObjectManager { Interest { type = "metadata", Constraint { "metadata.name", "=", "permd" } } }

local function is_trusted (client)
  local access = client.properties["pipewire.access"]
  return access == "unrestricted" or access == "allowed"
end

-- No rights on any of ours. WirePlumber has several clients; sandboxed clients may have such a metadata, too.
local function hidden ()
  local rights, processes = {}, {}
  for marks in hiding_marks_om:iterate () do
    local id = tonumber (marks["global-properties"]["client.id"])
    local owner = id and hiding_clients_om:lookup { Constraint { "bound-id", "=", id, type = "gobject" } }
    if owner and is_trusted (owner) then
      rights[marks["bound-id"]] = "-"
      processes[owner.properties["pipewire.sec.pid"] or ""] = true
    end
  end
  for client in hiding_clients_om:iterate () do
    local is_owner = processes[client.properties["pipewire.sec.pid"] or ""]
    if is_trusted (client) and (is_owner or client.properties["application.name"] == "permd-pipewire") then
      rights[client["bound-id"]] = "-"
    end
  end
  return rights
end

local function hide (rights, client)
  -- WirePlumber 0.4 does not survive an empty table.
  if next (rights) and not is_trusted (client) then
    client:update_permissions (rights)
  end
end

-- A client or metadata that was added may be one of ours.
local function hide_if_ours (object, rights)
  if rights[object["bound-id"]] then
    for client in hiding_clients_om:iterate () do
      hide (rights, client)
    end
  end
end

hiding_clients_om:connect ("object-added", function (_, client)
  local rights = hidden ()
  hide (rights, client)
  hide_if_ours (client, rights)
end)
hiding_marks_om:connect ("object-added", function (_, marks)
  hide_if_ours (marks, hidden ())
end)
hiding_clients_om:activate ()
hiding_marks_om:activate ()

-- Keeps WirePlumber from linking a recorder to a microphone or camera unless permd-pipewire has allowed it. It works
-- without permd-pipewire, too: then nobody new is allowed. What plays is not concerned.
--
-- permd-pipewire writes into the metadata "permd", which belongs to WirePlumber:
--   subject: a client that may record, or a node that outlives its maker; key: "microphone" or "camera"; value: its
--     serial number, as IDs are used again
--   subject: a source; key: "plain"; value: "true" if it carries neither (the output of a filter for music)
--   subject: a stream; key: "silence"; value: the source of silence that it is given while it waits

-- WirePlumber 0.5 has hooks; 0.4 has none.
local has_hooks = SimpleEventHook ~= nil
-- 20-permd.lua passes an argument. WirePlumber 0.4 may load the script a second time without, because of 50-permd.conf.
if not has_hooks and ... == nil then
  return
end

-- The permissions: the classes of their sources, the kind of stream that records from them, and whether permd-pipewire
-- can mark a source as plain. The same table is in Sources/CaptureRules/SourceRule.swift.
local kinds = {
  microphone = {
    sources = { "Audio/Source", "Audio/Source/Virtual", "Audio/Duplex" }, stream = "Audio", may_be_plain = true,
  },
  camera = { sources = { "Video/Source" }, stream = "Video" },
}
local allowed = {}
local mark_keys = { "plain", "silence" }
for key in pairs (kinds) do
  allowed[key] = {}
  table.insert (mark_keys, key)
end
local plain = {}
local silence = {}
local silent_links = {}
-- With WirePlumber 0.4, the items of streams that wait, which its policy does not see meanwhile.
local held = {}
-- The recorders' items of links that were refused, by link, until the policy has removed those.
local refused = {}
-- The item that is just being announced to all scripts, and may not have been to this one.
local announced
-- Whether the metadata has a number.
local marks_are_there = false

-- The permission that a source needs; nil for other nodes.
local function permission (node)
  local class = node.properties["media.class"] or ""
  for key, kind in pairs (kinds) do
    for _, source in ipairs (kind.sources) do
      if class:find ("^" .. source) then
        return not (kind.may_be_plain and plain[node["bound-id"]]) and key or nil
      end
    end
  end
end

local function is_recorder (node, kind)
  return (node.properties["media.class"] or ""):find ("^Stream/Input/" .. (kind or "")) ~= nil
end

local function is_marked (object, key)
  local serial = allowed[key][object["bound-id"]]
  return serial ~= nil and object["global-properties"]["object.serial"] == serial
end

local function object_with (id, objects)
  return id and objects:lookup { Constraint { "bound-id", "=", tonumber (id), type = "gobject" } }
end

-- Whose marks count for a node: its client's, or its own if it outlives its maker and may claim any client. Nodes without
-- either belong to PipeWire itself.
local function holder_id (node)
  local lingers = node.properties["object.linger"]
  if lingers == "true" or lingers == "1" then
    return node["bound-id"]
  end
  return tonumber (node.properties["client.id"])
end

local function is_allowed (node, key)
  local id = holder_id (node)
  if id == nil or id == node["bound-id"] then
    return id == nil or is_marked (node, key)
  end
  local client = object_with (id, clients_om)
  return client ~= nil and is_marked (client, key)
end

local function may_record (recorder, source)
  local needed = source and permission (source)
  return not needed or recorder ~= nil and is_allowed (recorder, needed)
end

local function item_with (item_id)
  if announced and announced.id == tonumber (item_id) then
    return announced
  end
  return items_om:lookup { Constraint { "id", "=", tonumber (item_id), type = "gobject" } }
end

local function node_of (item_id)
  local item = item_with (item_id)
  return item and item:get_associated_proxy ("node")
end

local function item_of (node_id)
  if held[node_id] then
    return held[node_id]
  end
  for item in items_om:iterate () do
    local node = item:get_associated_proxy ("node")
    if node and node["bound-id"] == node_id then
      return item
    end
  end
end

-- The policy treats an item that is registered again as a new one.
local function hold (item, node)
  local before = held[node["bound-id"]]
  if not before or before.id ~= item.id then
    held[node["bound-id"]] = item
    item:remove ()
  end
end

local function release (node_id)
  local item = held[node_id]
  held[node_id] = nil
  if item then
    announced = item
    item:register ()
    announced = nil
  end
end

local function is_linked (item)
  if has_hooks then
    local peer = lutils:get_flags (item.id).peer_id
    return peer ~= nil and lutils.lookupLink (item.id, peer) ~= nil
  end
  for link in links_om:iterate () do
    if tonumber (link.properties["in.item.id"]) == item.id then
      return true
    end
  end
  return false
end

local function is_refused (item)
  for _, item_id in pairs (refused) do
    if item_id == item.id then
      return true
    end
  end
  return false
end

-- Whether a stream may record something of its kind.
local function may_continue (node)
  for key, kind in pairs (kinds) do
    if is_recorder (node, kind.stream) then
      return is_allowed (node, key)
    end
  end
  return holder_id (node) == nil
end

-- Milliseconds after which a stream without a link is linked again. WirePlumber gives up a stream whose ports were
-- still being set up at its attempts.
local retry_delays = { 150, 500, 1500 }

local function link_stream (item, node)
  if has_hooks then
    local flags = lutils:get_flags (item.id)
    local link = flags.peer_id and lutils.lookupLink (item.id, flags.peer_id)
    if link then
      link:remove ()
    end
    lutils:clear_flags (item.id)
  elseif not is_linked (item) and not is_refused (item) then
    hold (item, node)
    release (node["bound-id"])
  end
end

local function rescan ()
  if has_hooks then
    Plugin.find ("standard-event-source"):call ("schedule-rescan", "linking")
  end
end

local function retry (node_id, attempt)
  if not retry_delays[attempt] then
    return
  end
  Core.timeout_add (retry_delays[attempt], function ()
    local item = item_of (node_id)
    local node = item and not held[node_id] and item:get_associated_proxy ("node")
    if node and may_continue (node) then
      if not silence[node_id] and not is_linked (item) then
        link_stream (item, node)
        rescan ()
      end
      retry (node_id, attempt + 1)
    end
    return false
  end)
end

-- The streams of a kind for which an object's marks count. They are looked for by their items, because a new node can
-- have one before it is listed.
local function streams_of (holder, kind)
  local found = {}
  local function add (item)
    local node = item:get_associated_proxy ("node")
    if node and holder_id (node) == holder and is_recorder (node, kind) then
      table.insert (found, { item = item, node = node })
    end
  end
  for item in recorder_items_om:iterate () do
    add (item)
  end
  for _, item in pairs (held) do
    add (item)
  end
  return found
end

-- Links of these streams may have been refused, or cut without WirePlumber.
local function link_again (holder, kind)
  for _, stream in ipairs (streams_of (holder, kind)) do
    link_stream (stream.item, stream.node)
    retry (stream.node["bound-id"], 1)
  end
  -- Also if there was none: one that was just refused may not be listed here yet.
  rescan ()
end

-- Before their links are cut, which would make the policy of WirePlumber 0.4 look for others.
local function hold_streams (holder, kind)
  if not has_hooks then
    for _, stream in ipairs (streams_of (holder, kind)) do
      hold (stream.item, stream.node)
    end
  end
end

-- Links streams that wait to the source of silence, as soon as both are there.
local function give_silence ()
  for stream, source in pairs (silence) do
    local recorder_item = item_of (stream)
    local source_item = item_of (source)
    if not silent_links[stream] and recorder_item and source_item then
      local link = SessionItem ("si-standard-link")
      if link:configure {
        ["out.item"] = source_item,
        ["in.item"] = recorder_item,
        ["out.item.port.context"] = "output",
        ["in.item.port.context"] = "input",
      } then
        silent_links[stream] = link
        link:register ()
        link:activate (Feature.SessionItem.ACTIVE, function (_, problem)
          if problem then
            Log.info (link, "no silence: " .. tostring (problem))
          end
        end)
      end
    end
  end
end

local function end_silence (stream)
  silence[stream] = nil
  local link = silent_links[stream]
  silent_links[stream] = nil
  if link then
    link:reset ()
    link:remove ()
  end
end

local function is_trusted (client)
  local access = client.properties["pipewire.access"]
  return access == "unrestricted" or access == "allowed"
end

-- Clients that PipeWire itself does not trust could make links without WirePlumber. They lose sight of the sources
-- together with their first rights. permd-pipewire gives them back when it marks the client as allowed, and again when
-- it is told that the mark was made: in case this came between the two. A client that is already marked keeps them.
local function hide (client, source)
  if is_trusted (client) or source.properties["node.name"] == "permd.silence" then
    return
  end
  local needed = permission (source)
  local may_see = plain[source["bound-id"]] or needed and is_marked (client, needed)
  if not may_see then
    client:update_permissions { [source["bound-id"]] = "-" }
  end
end

-- A sandboxed client that may record sees the sources before its streams are linked: the PulseAudio server waits for ever
-- for one that it cannot see. If it manages what others play, it may do so now.
local function set_rights (client_id, key)
  local client = object_with (client_id, clients_om)
  if not client or is_trusted (client) then
    return
  end
  local is_manager = client.properties["pipewire.access"] == "flatpak" and
      client.properties["media.category"] == "Manager"
  local may_manage = is_manager and is_marked (client, "microphone")
  local rights = {}
  if is_manager then
    rights["any"] = may_manage and "all" or "rx"
  end
  for source in sources_om:iterate () do
    if permission (source) == key and is_marked (client, key) then
      rights[source["bound-id"]] = may_manage and "all" or "rx"
    end
  end
  -- WirePlumber 0.4 does not survive an empty table.
  if next (rights) then
    client:update_permissions (rights)
  end
end

local function mark (subject, key, value)
  if key == "plain" then
    plain[subject] = value == "true" or nil
  elseif key == "silence" then
    end_silence (subject)
    silence[subject] = tonumber (value)
    give_silence ()
  elseif allowed[key] then
    local before = allowed[key][subject]
    allowed[key][subject] = value
    set_rights (subject, key)
    if value and value ~= before then
      link_again (subject, kinds[key].stream)
    elseif before and not value then
      hold_streams (subject, kinds[key].stream)
    end
  end
end

-- WirePlumber and permd-pipewire, which others may have the rights to end.
local function is_guard (client)
  local me = object_with (marks["global-properties"]["client.id"], clients_om)
  return client.properties["application.name"] == "permd-pipewire"
      or me ~= nil and client.properties["pipewire.sec.pid"] == me.properties["pipewire.sec.pid"]
end

local function hide_guards (client)
  local hidden = { [marks["bound-id"]] = "-" }
  for other in clients_om:iterate () do
    if is_trusted (other) and is_guard (other) then
      hidden[other["bound-id"]] = "-"
    end
  end
  client:update_permissions (hidden)
end

local function hide_guards_from_all ()
  for client in clients_om:iterate () do
    if not is_trusted (client) then
      hide_guards (client)
    end
  end
end

-- PipeWire before 0.3.75 lets sandboxed clients link what they have no rights on. permd-pipewire cuts all such links;
-- this is for when it does not run.
local function cut (link)
  local recorder = object_with (link.properties["link.input.node"], nodes_om)
  local client = recorder and object_with (recorder.properties["client.id"], clients_om)
  local source = object_with (link.properties["link.output.node"], nodes_om)
  if client and not is_trusted (client) and not may_record (recorder, source) then
    link:request_destroy ()
  end
end

-- With WirePlumber 0.5.
local function check_links ()
  lutils = require ("linking-utils")

  -- After the target was chosen and before it is linked.
  SimpleEventHook {
    name = "permd/check-link",
    after = "linking/prepare-link",
    before = "linking/link-target",
    interests = {
      EventInterest {
        Constraint { "event.type", "=", "select-target" },
      },
    },
    execute = function (event)
      local item = event:get_subject ()
      local target = event:get_data ("target")
      local recorder = item:get_associated_proxy ("node")
      local source = target and target:get_associated_proxy ("node")
      local is_known, may_link = pcall (may_record, recorder, source)
      if source and permission (source) and not (is_known and may_link) then
        Log.info (item, "not allowed by permd")
        event:stop_processing ()
      end
    end
  }:register ()
end

-- An item that was just registered may not be known here yet. A recorder is then refused, and tried again if it may
-- record.
local function may_link (link)
  local source = node_of (link.properties["out.item.id"])
  local recorder = node_of (link.properties["in.item.id"])
  if not source then
    return recorder ~= nil and not is_recorder (recorder)
  end
  return may_record (recorder, source)
end

-- With WirePlumber 0.4.
local function refuse_links ()
  -- A new link is not active yet, so PipeWire has not heard of it. It is not removed here, because it is just being
  -- announced to all scripts; the policy removes it when it cannot activate it.
  links_om:connect ("object-added", function (_, link)
    if not may_link (link) then
      refused[link.id] = tonumber (link.properties["in.item.id"])
      link:reset ()
    end
  end)

  -- The policy would now try again, give up, and destroy a stream that is not to be reconnected.
  links_om:connect ("object-removed", function (_, link)
    local item = refused[link.id] and item_with (refused[link.id])
    refused[link.id] = nil
    local node = item and item:get_associated_proxy ("node")
    if node and is_recorder (node) then
      hold (item, node)
      if may_continue (node) then
        release (node["bound-id"])
      end
    end
  end)

  -- PipeWire uses their numbers again.
  streams_om:connect ("object-removed", function (_, node)
    held[node["bound-id"]] = nil
  end)
end

-- Fails if a newer WirePlumber lacks something of this. What comes before that refuses.
local function start ()
  if has_hooks then
    check_links ()
  end
  -- Global, because the script engine would collect locals when the script has run.
  marks = ImplMetadata ("permd")
  clients_om = ObjectManager { Interest { type = "client" } }
  local source_classes = { "media.class", "c", type = "pw-global" }
  for _, kind in pairs (kinds) do
    for _, source in ipairs (kind.sources) do
      table.insert (source_classes, source)
    end
  end
  sources_om = ObjectManager {
    Interest {
      type = "node",
      Constraint (source_classes),
    }
  }
  streams_om = ObjectManager {
    Interest {
      type = "node",
      Constraint { "media.class", "#", "Stream/Input/*", type = "pw-global" },
    },
  }
  nodes_om = ObjectManager { Interest { type = "node" } }
  pw_links_om = ObjectManager { Interest { type = "link" } }
  items_om = ObjectManager { Interest { type = "SiLinkable" } }
  -- Apart, because hundreds of clients may play.
  recorder_items_om = ObjectManager {
    Interest {
      type = "SiLinkable",
      Constraint { "item.node.type", "=", "stream" },
      Constraint { "item.node.direction", "=", "input" },
    }
  }
  links_om = ObjectManager {
    Interest {
      type = "SiLink",
      Constraint { "is.policy.item.link", "=", true },
    }
  }

  if not has_hooks then
    refuse_links ()
  end

  marks:activate (Features.ALL, function (metadata, problem)
    if problem then
      Log.warning (metadata, "permd: " .. tostring (problem))
      return
    end
    marks_are_there = true
    hide_guards_from_all ()
    metadata:connect ("changed", function (_, subject, key, _, value)
      for _, each in ipairs (key and { key } or mark_keys) do
        mark (subject, each, value)
      end
    end)
  end)

  items_om:connect ("object-added", function ()
    if next (silence) then
      give_silence ()
    end
  end)

  if has_hooks then
    -- If the sources were hidden from a client after permd-pipewire had allowed it, PipeWire refuses its links until
    -- permd-pipewire has given them back.
    recorder_items_om:connect ("object-added", function (_, item)
      local node = item:get_associated_proxy ("node")
      if node and holder_id (node) and may_continue (node) then
        retry (node["bound-id"], 1)
      end
    end)
  end

  clients_om:connect ("object-added", function (_, client)
    for source in sources_om:iterate () do
      hide (client, source)
    end
    if marks_are_there and not is_trusted (client) then
      hide_guards (client)
    elseif marks_are_there and is_guard (client) then
      hide_guards_from_all ()
    end
    -- It may have been allowed before it was known here.
    for key, kind in pairs (kinds) do
      if allowed[key][client["bound-id"]] then
        set_rights (client["bound-id"], key)
        link_again (client["bound-id"], kind.stream)
      end
    end
  end)

  sources_om:connect ("object-added", function (_, source)
    for client in clients_om:iterate () do
      hide (client, source)
    end
  end)

  -- PipeWire uses their numbers again.
  clients_om:connect ("object-removed", function (_, client)
    local id = client["bound-id"]
    for _, holders in pairs (allowed) do
      holders[id] = nil
    end
    marks:set (id, nil, nil, nil)
  end)

  sources_om:connect ("object-removed", function (_, source)
    plain[source["bound-id"]] = nil
  end)

  pw_links_om:connect ("object-added", function (_, link)
    cut (link)
  end)

  clients_om:activate ()
  nodes_om:activate ()
  pw_links_om:activate ()
  sources_om:activate ()
  streams_om:activate ()
  items_om:activate ()
  recorder_items_om:activate ()
  links_om:activate ()
end

-- Sound goes on without this, and permd-pipewire says that the session manager does not know it.
local has_started, problem = pcall (start)
if not has_started then
  Log.warning ("permd: " .. tostring (problem))
end

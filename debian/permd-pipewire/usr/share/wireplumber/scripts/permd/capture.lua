-- Keeps WirePlumber from linking a recorder to a microphone or camera unless permd-pipewire has granted it. It works
-- without permd-pipewire, too: then nothing new is granted. What plays is not concerned.

-- WirePlumber 0.5 has hooks; 0.4 has none.
local has_hooks = SimpleEventHook ~= nil
-- 60-permd.lua passes an argument. WirePlumber 0.4 may load the script a second time without, because of 50-permd.conf.
if not has_hooks and ... == nil then
  return
end

local marks, rights = require ("permd/marks"), require ("permd/rights")
-- By stream, the source of silence and the link to it.
local silence = {}
-- With WirePlumber 0.4, the items of undecided streams, by node; its policy does not see them meanwhile.
local undecided = {}
-- With WirePlumber 0.4, the IDs of the recorders' items of denied links, by link, until the policy has removed those.
local denied = {}
-- The item that is just being announced to all scripts, and may not have been to this one.
local announced

local function item_with (id)
  return announced and announced.id == tonumber (id) and announced or marks.find (items_om, "id", id)
end

local function item_of (node_id)
  return undecided[node_id] or items_om:lookup { Constraint { "node.id", "=", tostring (node_id) } }
end

local function node_of (item)
  return item and item:get_associated_proxy ("node")
end

local function withdraw (item, node)
  if not undecided[node["bound-id"]] then
    undecided[node["bound-id"]] = item
    item:remove ()
  end
end

-- The policy treats an item that is registered again as a new one.
local function resubmit (node)
  announced = undecided[node["bound-id"]]
  undecided[node["bound-id"]] = nil
  announced:register ()
  announced = nil
end

-- The policy's link to a recorder's item, which may be one that was denied.
local function link_to (item)
  if has_hooks then
    local peer = lutils:get_flags (item.id).peer_id
    return peer and lutils.lookupLink (item.id, peer)
  end
  for link in links_om:iterate () do
    if (denied[link.id] or tonumber (link.properties["in.item.id"])) == item.id then
      return link
    end
  end
end

-- Has the policy link a stream whose link may have been denied, or cut without WirePlumber.
local function link_again (item, node)
  local link = link_to (item)
  if has_hooks then
    if link then
      link:remove ()
    end
    lutils:clear_flags (item.id)
    Plugin.find ("standard-event-source"):call ("schedule-rescan", "linking")
  elseif not link then
    withdraw (item, node)
    resubmit (node)
  end
end

-- Whether the policy's link to a recorder's item is being made or is there. PipeWire itself removes one when a client
-- loses its rights, of which the policy hears nothing.
local function is_linked (item, node)
  local link = link_to (item)
  local is_made = link and link:get_active_features () & Feature.SessionItem.ACTIVE ~= 0
  return link and (not is_made or pw_links_om:lookup { Constraint { "link.input.node", "=", node["bound-id"] } })
end

-- WirePlumber gives up a stream whose ports were still being set up at its attempts.
local function retry (node)
  local id = node["bound-id"]
  for _, milliseconds in ipairs { 150, 650, 2150 } do
    Core.timeout_add (milliseconds, function ()
      local item = not undecided[id] and not silence[id] and item_of (id)
      local recorder = node_of (item)
      if recorder and marks.may_continue (recorder) and not is_linked (item, recorder) then
        link_again (item, recorder)
      end
      return false
    end)
  end
end

-- The items of streams for which an object's marks count. A new node can have one before it is listed.
local function recorders (holder, key)
  local found = {}
  local function add (item)
    local node = node_of (item)
    if node and marks.holder_id (node) == holder and marks.kind_of (node, "streams") == key then
      table.insert (found, item)
    end
  end
  for item in items_om:iterate { Constraint { "item.node.direction", "=", "input" } } do
    add (item)
  end
  for _, item in pairs (undecided) do
    add (item)
  end
  return found
end

-- Milliseconds after which a link to a source of silence is tried again, which WirePlumber may take back at first.
local SILENCE_PAUSE = 500

-- Links streams to their sources of silence, as soon as both are there.
local function give_silence ()
  for stream, silent in pairs (silence) do
    local recorder, source = item_of (stream), item_of (silent.source)
    local link = not silent.link and recorder and source and SessionItem ("si-standard-link")
    if link and link:configure {
      ["out.item"] = source, ["out.item.port.context"] = "output",
      ["in.item"] = recorder, ["in.item.port.context"] = "input",
    } then
      silent.link = link
      link:register ()
      link:activate (Feature.SessionItem.ACTIVE, function (_, problem)
        if problem and silence[stream] == silent then
          Log.info (link, "no silence yet: " .. tostring (problem))
          link:remove ()
          silent.link = nil
          Core.timeout_add (SILENCE_PAUSE, function ()
            give_silence ()
            return false
          end)
        end
      end)
    end
  end
end

local function set_silence (stream, source)
  local link = silence[stream] and silence[stream].link
  silence[stream] = source and { source = source }
  if link then
    link:reset ()
    link:remove ()
  end
  give_silence ()
end

-- Sets the rights of a client, and links streams, by a mark that was made or removed.
local function obey (holder, key, serial)
  local client = marks.find (marks.clients, "bound-id", holder)
  if client then
    rights.set (client, key)
  end
  for _, item in ipairs (recorders (holder, key)) do
    local node = node_of (item)
    if serial then
      link_again (item, node)
      retry (node)
    elseif not has_hooks then
      -- Before its links are cut, which would make the policy look for others.
      withdraw (item, node)
    end
  end
end

-- Without a key, all marks of the subject were removed.
local function marked (_, subject, key, _, value)
  if (key or "silence") == "silence" then
    set_silence (subject, tonumber (value))
  end
  for each in pairs (marks.kinds) do
    if (key or each) == each then
      obey (subject, each, value)
    end
  end
end

local function node_added (_, node)
  if marks.kind_of (node, "sources") then
    rights.source_added (node)
  end
end

-- PipeWire uses the numbers of clients and nodes again.
local function removed (_, object)
  local id = object["bound-id"]
  marks.metadata:set (id, nil, nil, nil)
  rights.source_removed (id)
  undecided[id] = nil
end

local function client_added (_, client)
  rights.client_added (client)
  -- It may have been marked before it was known here.
  for key in pairs (marks.kinds) do
    if marks.is_marked (client, key) then
      obey (client["bound-id"], key, true)
    end
  end
end

-- PipeWire before 0.3.75 lets sandboxed clients link what they have no rights on. permd-pipewire cuts all such links;
-- this is for when it does not run.
local function cut (_, link)
  local recorder = marks.find (nodes_om, "bound-id", link.properties["link.input.node"])
  local client = recorder and marks.find (marks.clients, "bound-id", recorder.properties["client.id"])
  local source = marks.find (nodes_om, "bound-id", link.properties["link.output.node"])
  if client and not rights.is_trusted (client) and not marks.may_record (recorder, source) then
    link:request_destroy ()
  end
end

-- With WirePlumber 0.5. A client of PulseAudio that names no source means the microphone. PipeWire from 1.6.7 to 1.7 gives it
-- what the default sink plays as long as it sees no source.
local function find_source (event)
  local node = node_of (event:get_subject ())
  local properties = node and node.properties or {}
  if not event:get_data ("target") and properties["client.api"] == "pipewire-pulse" and
      properties["stream.capture.sink"] == "true" and not properties["target.object"] then
    local source = item_of (Plugin.find ("default-nodes-api"):call ("get-default-node", "Audio/Source"))
    if source and marks.kind_of (node_of (source), "sources") then
      event:set_data ("target", source)
    end
  end
end

-- With WirePlumber 0.5: after the target was chosen and before it is linked.
local function check_target (event)
  local item = event:get_subject ()
  local source = node_of (event:get_data ("target"))
  local is_known, may_link = pcall (marks.may_record, node_of (item), source)
  if source and marks.kind_of (source, "sources") and not (is_known and may_link) then
    Log.info (item, "not granted by permd")
    event:stop_processing ()
  end
end

-- With WirePlumber 0.4. A new link is not active yet, so PipeWire has not heard of it. It is not removed here, because
-- it is just being announced to all scripts; the policy removes it when it cannot activate it. An item that was just
-- registered may not be known here yet. A recorder is then denied, and tried again if it may record.
local function check_link (_, link)
  local recorder_id = tonumber (link.properties["in.item.id"])
  local recorder = node_of (item_with (recorder_id))
  local source = node_of (item_with (link.properties["out.item.id"]))
  local is_playback = recorder ~= nil and marks.kind_of (recorder, "streams") == nil
  if not (source and marks.may_record (recorder, source) or not source and is_playback) then
    denied[link.id] = recorder_id
    link:reset ()
  end
end

-- With WirePlumber 0.4. The policy would now try again, give up, and destroy a stream that is not to be reconnected.
local function link_removed (_, link)
  local item = item_with (denied[link.id])
  denied[link.id] = nil
  local node = node_of (item)
  if node and marks.kind_of (node, "streams") then
    withdraw (item, node)
    if marks.may_continue (node) then
      resubmit (node)
    end
  end
end

local function item_added (_, item)
  give_silence ()
  -- If the sources were hidden from a client after permd-pipewire had marked it, PipeWire denies its links until
  -- permd-pipewire has given them back.
  local node = has_hooks and node_of (item)
  if node and marks.holder_id (node) and marks.may_continue (node) then
    retry (node)
  end
end

-- Fails if a newer WirePlumber lacks something of this. What comes before that denies.
local function start ()
  if has_hooks then
    lutils = require ("linking-utils")
    SimpleEventHook {
      name = "permd/find-source", after = "linking/find-defined-target",
      before = { "linking/find-filter-target", "linking/find-default-target" },
      interests = { EventInterest { Constraint { "event.type", "=", "select-target" } } },
      execute = find_source,
    }:register ()
    SimpleEventHook {
      name = "permd/check-link", after = "linking/prepare-link", before = "linking/link-target",
      interests = { EventInterest { Constraint { "event.type", "=", "select-target" } } },
      execute = check_target,
    }:register ()
  end

  -- Global, because the script engine would collect locals when the script has run.
  nodes_om = ObjectManager { Interest { type = "node" } }
  pw_links_om = ObjectManager { Interest { type = "link" } }
  items_om = ObjectManager { Interest { type = "SiLinkable" } }
  links_om = ObjectManager { Interest { type = "SiLink", Constraint { "is.policy.item.link", "=", true } } }

  rights.start ()
  marks.metadata:activate (Features.ALL, function (metadata, problem)
    if problem then
      Log.warning (metadata, "permd: " .. tostring (problem))
    else
      metadata:connect ("changed", marked)
    end
  end)
  marks.clients:connect ("object-added", client_added)
  marks.clients:connect ("object-removed", removed)
  nodes_om:connect ("object-added", node_added)
  nodes_om:connect ("object-removed", removed)
  pw_links_om:connect ("object-added", cut)
  items_om:connect ("object-added", item_added)
  if not has_hooks then
    links_om:connect ("object-added", check_link)
    links_om:connect ("object-removed", link_removed)
  end
  for _, objects in ipairs { marks.clients, nodes_om, pw_links_om, items_om, links_om } do
    objects:activate ()
  end
end

-- Sound goes on without this, and permd-pipewire says that the session manager does not know it.
local has_started, problem = pcall (start)
if not has_started then
  Log.warning ("permd: " .. tostring (problem))
end

-- What permd-pipewire has granted. It writes that into the metadata "permd", which belongs to WirePlumber:
--   subject: a client that may record, or a node that outlives its maker; key: "microphone" or "camera"; value: its
--     serial number, as IDs are used again
--   subject: a source; key: "plain"; value: "true" if it carries neither (the output of a filter for music)
--   subject: a stream; key: "silence"; value: the source of silence that it is given while it is undecided

local marks = {
  metadata = ImplMetadata ("permd"),
  clients = ObjectManager { Interest { type = "client" } },
  -- The permissions: the beginnings of the media classes of their sources and of the streams that record from them, and
  -- whether permd-pipewire can mark a source as plain. The same table is in Sources/CaptureRules/SourceRule.swift.
  kinds = {
    microphone = {
      sources = { "Audio/Source", "Audio/Duplex" }, streams = { "Stream/Input/Audio" }, may_be_plain = true,
    },
    camera = { sources = { "Video/Source" }, streams = { "Stream/Input/Video" } },
  },
}

function marks.find (objects, property, id)
  return id and objects:lookup { Constraint { property, "=", tonumber (id), type = "gobject" } }
end

-- The permission whose sources, or whose streams, include a node.
function marks.kind_of (node, role)
  local media_class = node.properties["media.class"] or ""
  for key, kind in pairs (marks.kinds) do
    for _, class in ipairs (kind[role]) do
      if media_class:find (class, 1, true) == 1 then
        return key
      end
    end
  end
end

-- The permission that a source needs; nil for other nodes.
function marks.permission (node)
  local key = marks.kind_of (node, "sources")
  local is_plain = key and marks.kinds[key].may_be_plain and marks.metadata:find (node["bound-id"], "plain") == "true"
  return not is_plain and key or nil
end

function marks.is_marked (object, key)
  local serial = marks.metadata:find (object["bound-id"], key)
  return serial ~= nil and object["global-properties"]["object.serial"] == serial
end

-- Whose marks count for a node: its client's, or its own if it outlives its maker and may claim any client. Nodes
-- without either belong to PipeWire itself.
function marks.holder_id (node)
  local lingers = node.properties["object.linger"]
  return (lingers == "true" or lingers == "1") and node["bound-id"] or tonumber (node.properties["client.id"])
end

local function is_granted (node, key)
  local id = marks.holder_id (node)
  local holder = id == node["bound-id"] and node or marks.find (marks.clients, "bound-id", id)
  return id == nil or holder ~= nil and marks.is_marked (holder, key)
end

function marks.may_record (recorder, source)
  local needed = source and marks.permission (source)
  return not needed or recorder ~= nil and is_granted (recorder, needed)
end

-- Whether a stream may record something of its kind.
function marks.may_continue (node)
  local key = marks.kind_of (node, "streams")
  return key ~= nil and is_granted (node, key)
end

return marks

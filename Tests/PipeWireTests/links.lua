-- Prints "OUTPUT -> INPUT", the names of its nodes, for each link that is made, and "ready" as soon as it does.

local nodes = ObjectManager { Interest { type = "node" } }
local links = ObjectManager { Interest { type = "link" } }
-- The ends of links of which a node is not known yet.
local unnamed = {}
local is_ready = false

local function name (id)
  local node = nodes:lookup { Constraint { "bound-id", "=", tonumber (id), type = "gobject" } }
  return node and node.properties["node.name"]
end

local function print_named ()
  local rest = {}
  for _, ends in ipairs (unnamed) do
    local output, input = name (ends.output), name (ends.input)
    if output and input then
      print (output .. " -> " .. input)
    else
      table.insert (rest, ends)
    end
  end
  unnamed = rest
end

nodes:connect ("object-added", print_named)
nodes:connect ("installed", function () links:activate () end)
links:connect ("object-added", function (_, link)
  if is_ready then
    local ends = link.properties
    table.insert (unnamed, { output = ends["link.output.node"], input = ends["link.input.node"] })
    print_named ()
  end
end)
links:connect ("installed", function ()
  is_ready = true
  print ("ready")
end)
nodes:activate ()

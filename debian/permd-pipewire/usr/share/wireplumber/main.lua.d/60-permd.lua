-- WirePlumber 0.4: no recording that permd-pipewire has not granted.
load_script ("permd/capture.lua", { from = "60-permd.lua" })

-- The scripts start in any order, and a client can use the first rights that it gets at once. capture.lua gives
-- sandboxed clients theirs, after it has hidden from them what they must not see.
for _, rule in ipairs (default_access.rules) do
  for _, match in ipairs (rule.matches) do
    table.insert (match, { "pipewire.access", "!", "flatpak" })
    table.insert (match, { "pipewire.access", "!", "restricted" })
  end
end

-- WirePlumber 0.4: no sandboxed client manages others just because it says so. capture.lua lets those do it that may
-- record.
table.insert (default_access.rules, 1, {
  matches = {
    {
      { "pipewire.access", "=", "flatpak" },
    },
  },
  default_permissions = "rx",
})

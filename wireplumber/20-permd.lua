-- WirePlumber 0.4: no recording that permd-pipewire has not granted.
load_script("permd/capture.lua", { from = "20-permd.lua" })
load_script("permd/hiding.lua")

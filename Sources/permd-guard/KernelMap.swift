// A map that the BPF programs share with this process (bpf(2)).

import CGuard
import Glibc

/// - Note: Key and Value have the layout of the map's key and value in bpf/guard.h.
struct KernelMap<Key: BitwiseCopyable, Value: BitwiseCopyable> {
    let descriptor: Int32

    subscript(key: Key) -> Value? {
        var key = key
        return withUnsafeTemporaryAllocation(of: Value.self, capacity: 1) { value in
            bpf_map_lookup_elem(descriptor, &key, value.baseAddress) == 0 ? value[0] : nil
        }
    }

    /// Returns false, and sets errno, if it has no place.
    @discardableResult
    func set(_ key: Key, _ value: Value, onlyExisting: Bool = false) -> Bool {
        var (key, value) = (key, value)
        return bpf_map_update_elem(descriptor, &key, &value, UInt64(onlyExisting ? BPF_EXIST : BPF_ANY)) == 0
    }

    func remove(_ key: Key) {
        var key = key
        bpf_map_delete_elem(descriptor, &key)
    }

    func removeAll() { for key in keys { remove(key) } }

    var keys: [Key] {
        var found: [Key] = []
        withUnsafeTemporaryAllocation(of: Key.self, capacity: 1) { key in
            var result = bpf_map_get_next_key(descriptor, nil, key.baseAddress)
            while result == 0 {
                found.append(key[0])
                result = bpf_map_get_next_key(descriptor, key.baseAddress, key.baseAddress)
            }
        }
        return found
    }
}

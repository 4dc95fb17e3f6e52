// The room of devices: one snapshot, kept up to date by events, that answers without asking anybody.

public import DBus
public import Logging
import PermissionCore
public import PermissionModel

/// What devices there are and whether this user can use them.
@LoopActor
public final class DeviceCatalog {
    /// By permission; the default device of each first.
    public private(set) var devices: [Device] = []

    private let log: Logger
    private let source: any DeviceSource
    private let probe: any NodeProbe
    private let geoclue: GeoClueProbe?
    private var onChange: (@LoopActor ([DeviceChange]) -> Void)?
    private(set) var found: [Permission: [FoundDevice]] = [:]
    private var usable: Set<Permission> = []
    private var cameras = Cameras()
    private var names = DeviceNames()
    /// Reported as removed, though sysfs may still list them for a moment.
    private var gone: Set<String> = []

    static let subsystems = ["video4linux", "sound", "bluetooth", "rfkill", "gnss"]

    public convenience init(log: Logger) {
        self.init(log: log, source: Udev(), probe: SystemProbe(), geoclue: GeoClueProbe(address: .system))
    }

    init(log: Logger, source: any DeviceSource, probe: any NodeProbe, geoclue: GeoClueProbe?) {
        self.log = log
        self.source = source
        self.probe = probe
        self.geoclue = geoclue
    }

    /// Takes the first snapshot at once; reports what differs from it from then on. GeoClue answers later. Started already,
    /// only who is told changes.
    public func start(onChange: @escaping @LoopActor ([DeviceChange]) -> Void) {
        let isStarted = self.onChange != nil
        self.onChange = onChange
        if isStarted { return }
        // Watching comes first, so that nothing falls between the snapshot and the events.
        source.start(DeviceCatalog.subsystems) { [weak self] in self?.received($0) }
        for permission in Permission.allCases { found[permission] = look(for: permission) }
        publish()
        geoclue?.start { [weak self] in self?.refresh([.location]) }
        for problem in source.problems { log.notice("\(problem)") }
    }

    /// No report comes any more.
    public func stop() {
        source.stop()
        geoclue?.stop()
        onChange = nil
    }

    /// Looks at everything anew and asks every node again.
    public func rescan() {
        cameras.forgetAll()
        gone = []
        refresh(Set(Permission.allCases))
        geoclue?.askAgain()
    }

    /// Looks again at who may open the nodes: udev does not tell when logind hands them to another person.
    func checkRights() { refresh([.camera, .microphone, .location]) }

    /// Calls `body` once the first snapshot is whole: when GeoClue has answered, failed, or taken that long. At once if
    /// it is.
    public func whenComplete(withinMilliseconds limit: Int64, _ body: @escaping @LoopActor () -> Void) {
        guard let geoclue else { return body() }
        geoclue.whenSettled(withinMilliseconds: limit, body)
    }

    public func isUsable(_ permission: Permission) -> Bool { permission.isOfPortals || usable.contains(permission) }

    public func defaultDevice(_ permission: Permission) -> Device? { found[permission]?.first?.device }

    /// What keeps devices from being noticed, for a person to read.
    public var problems: [String] { source.problems }

    // MARK: Keeping up

    private func received(_ events: [DeviceEvent]) {
        var touched: Set<Permission> = []
        for event in events {
            if event.syspath.isEmpty {
                cameras.forgetAll()
                gone = []
            }
            if event.isRemoval { gone.insert(event.syspath) } else { gone.remove(event.syspath) }
            switch event.subsystem {
            case "video4linux":
                // Whatever happened to it, a node that is there now may be another one.
                cameras.forget(event.syspath)
                touched.insert(.camera)
            case "sound": touched.insert(.microphone)
            case "bluetooth", "rfkill": touched.insert(.bluetooth)
            case "gnss": touched.insert(.location)
            default: break
            }
        }
        refresh(touched)
    }

    private func refresh(_ permissions: Set<Permission>) {
        for permission in permissions { found[permission] = look(for: permission) }
        let old = devices
        publish()
        let changes = DeviceChange.between(old, devices)
        guard !changes.isEmpty else { return }
        for change in changes { log.debug("device \(change)") }
        onChange?(changes)
    }

    private func look(for permission: Permission) -> [FoundDevice] {
        var all: [FoundDevice]
        switch permission {
        case .camera: all = cameras.find(in: records("video4linux"), probe)
        case .microphone: all = Microphones.find(in: records("sound"), probe)
        case .bluetooth: all = Adapters.find(in: records("bluetooth"), switches: records("rfkill"))
        case .location:
            all = Receivers.find(in: records("gnss"), probe)
            if let service = geoclue?.device { all.append(FoundDevice(device: service, order: .max)) }
        case .background, .screenshot, .speakers, .wallpaper, .other: all = []
        }
        // A stable order before ids are given, the usable ones first after it.
        all.sort { ($0.order, $0.syspath) < ($1.order, $1.syspath) }
        // Serial numbers are what the hardware says.
        for index in all.indices { all[index].device.id = SafeText.identity(all[index].device.id) }
        all = names.withUniqueIDs(all)
        return all.filter(\.device.isUsable) + all.filter { !$0.device.isUsable }
    }

    private func records(_ subsystem: String) -> [DeviceRecord] {
        let all = source.records(of: subsystem)
        return gone.isEmpty ? all : all.filter { !gone.contains($0.syspath) }
    }

    private func publish() {
        devices = Permission.allCases.sorted().flatMap { found[$0, default: []].map(\.device) }
        usable = Set(devices.filter(\.isUsable).map(\.permission))
    }
}

// swift-tools-version: 6.1
import Foundation
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

func hasHeader(_ path: String) -> Bool {
    ["/usr/include", "/usr/local/include"].contains { FileManager.default.fileExists(atPath: "\($0)/\(path)") }
}

/// Whether only what people install is built, by one `swift build`: see scripts/build.
let hasOnlyPrograms = Context.environment["PERMD_ONLY_PROGRAMS"] != nil

/// The windows need libadwaita. Without its headers, permd-agent, permd-settings and their tests are left out of the build.
let hasAdwaita = hasHeader("libadwaita-1/adwaita.h")
let hasLayerShell = hasAdwaita && hasHeader("gtk4-layer-shell/gtk4-layer-shell.h")
/// For prompts above full-screen windows. Without its headers, permd-agent is built without it.
let layerTargets: [Target] =
    !hasLayerShell
    ? []
    : [
        .systemLibrary(
            name: "CLayerShell", pkgConfig: "gtk4-layer-shell-0", providers: [.apt(["libgtk4-layer-shell-dev"])])
    ]
let windowTargets: [Target] =
    !hasAdwaita
    ? []
    : [
        .systemLibrary(name: "CAdwaita", pkgConfig: "libadwaita-1", providers: [.apt(["libadwaita-1-dev"])]),
        .executableTarget(
            name: "permd-agent",
            // The linker has to see gtk4-layer-shell before GTK.
            dependencies: (hasLayerShell ? ["CLayerShell"] : [])
                + ["DesktopServices", "PermissionClient", "PermissionTexts", "DBus", "System", "CAdwaita"],
            swiftSettings: strict + (hasLayerShell ? [.define("LAYER_SHELL")] : [])),
        .testTarget(
            name: "AgentWindowTests",
            dependencies: [
                "permd-agent", "PermissionClient", "PermissionTexts", "DBus", "PermissionTestKit", "TestSupport",
            ],
            exclude: ["color.py", "icons.py", "mock_capture.py", "page.py"], swiftSettings: strict),
        .executableTarget(
            name: "permd-settings",
            dependencies: ["PermissionClient", "DesktopServices", "PermissionTexts", "System", "CAdwaita"],
            swiftSettings: strict),
        .testTarget(
            name: "SettingsWindowTests",
            dependencies: [
                "permd-settings", "PermissionClient", "PermissionTexts", "DBus", "PermissionTestKit", "TestSupport",
            ], swiftSettings: strict),
        // Real desktops, as of Debian 13: see scripts/test.
        .testTarget(
            name: "DesktopTests",
            dependencies: ["DBus", "PermissionModel", "PermissionTestKit", "TestSupport"],
            exclude: [
                "ask.py", "close.py", "editor.py", "gnome.js", "pointer.py", "touch.py", "wayland.py",
            ], swiftSettings: strict),
    ]

/// permd-pipewire needs libpipewire. Without its headers, permd-pipewire and its tests are left out of the build.
let hasPipeWire = hasHeader("pipewire-0.3/pipewire/pipewire.h")
let pipeWireTargets: [Target] =
    !hasPipeWire
    ? []
    : [
        .systemLibrary(name: "CPipeWire", pkgConfig: "libpipewire-0.3", providers: [.apt(["libpipewire-0.3-dev"])]),
        .executableTarget(
            name: "permd-pipewire",
            dependencies: [
                "CaptureRules", "EnforcementClient", "DBus", "PermissionModel", "ProcessIdentity", "System", "Journal",
                "CLinux",
                "CSystemd", "CPipeWire", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "PipeWireTests",
            dependencies: [
                "permd-pipewire", "CPipeWire", "CaptureRules", "DBus", "PermissionModel", "ProcessIdentity",
                "PermissionTestKit", "TestSupport",
            ],
            exclude: ["destroy.py", "load_module.py", "portal_client.py"], swiftSettings: strict),
    ]

/// permd-guard needs libbpf. Without its headers, permd-guard and its tests are left out of the build.
let guardTargets: [Target] =
    !hasHeader("bpf/libbpf.h")
    ? []
    : [
        .systemLibrary(name: "CGuard", pkgConfig: "libbpf", providers: [.apt(["libbpf-dev"])]),
        .executableTarget(
            name: "permd-guard",
            dependencies: [
                "GuardRules", "SystemPoint", "DeviceNodes", "DBus", "PermissionModel", "ProcessIdentity",
                "PolicyFiles", "System", "Journal", "CGuard", "CLinux",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .testTarget(
            name: "GuardTests",
            dependencies: [
                "permd-guard", "CGuard", "GuardRules", "DBus", "PermissionModel", "ProcessIdentity", "System",
                "PermissionTestKit", "TestSupport", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
    ]

/// An archive of scripts/archive has the packages in vendor/, so that a build needs no network.
let isArchive = FileManager.default.fileExists(atPath: "\(Context.packageDirectory)/vendor")

/// A package at the only version that is built and tested.
func pinned(_ owner: String, _ name: String, _ version: Version) -> Package.Dependency {
    isArchive
        ? .package(path: "vendor/\(name)") : .package(url: "https://github.com/\(owner)/\(name)", exact: version)
}

/// For `swift package generate-documentation`, which an archive does without.
let documentationPlugin = isArchive ? [] : [pinned("swiftlang", "swift-docc-plugin", "1.5.0")]

/// Built by scripts/faults only. libFuzzer supplies its `main`, so it does not link without `--sanitize=fuzzer`.
let fuzzTargets: [Target] =
    ProcessInfo.processInfo.environment["PERMD_FUZZ"] == nil
    ? []
    : [
        .executableTarget(
            name: "permd-fuzz",
            dependencies: [
                "DBus", "CDBus", "GateRules", "PermissionDaemon", "PermissionModel", "PolicyFiles", "ProcessIdentity",
                "System",
            ],
            path: "Tests/fuzz", exclude: ["seeds"],
            swiftSettings: strict + [.unsafeFlags(["-parse-as-library"])])
    ]

/// For tests, of apps as well.
let mockTargets: [Target] =
    hasOnlyPrograms && !hasHeader("umockdev-1.0/umockdev.h")
    ? []
    : [
        .systemLibrary(name: "CUMockdev", pkgConfig: "umockdev-1.0", providers: [.apt(["libumockdev-dev"])]),
        .executableTarget(
            name: "permd-mockdevices", dependencies: ["CUMockdev", "CLinux"], path: "Tools/permd-mockdevices",
            swiftSettings: strict),
    ]

/// Tools, examples and tests.
let otherTargets: [Target] = [
    .systemLibrary(name: "CGLib", pkgConfig: "glib-2.0", providers: [.apt(["libglib2.0-dev"])]),
    .target(
        name: "TestSupport", dependencies: ["DBus", "PermissionModel", "PermissionTestKit", "System"],
        path: "Tests/TestSupport", exclude: ["cover.py", "widgets.py"], swiftSettings: strict),
    .executableTarget(
        name: "permd-testapp", dependencies: ["DBus", "PermissionModel"], path: "Tools/permd-testapp",
        swiftSettings: strict),
    .executableTarget(
        name: "permd-scripted-agent", dependencies: ["DBus", "PermissionModel", "PermissionTestKit"],
        path: "Tools/permd-scripted-agent", swiftSettings: strict),
    .executableTarget(
        name: "permd-faults",
        dependencies: ["DBus", "PermissionModel", "PermissionTestKit", "TestSupport", "CLinux"],
        path: "Tools/permd-faults", swiftSettings: strict),
    .executableTarget(
        name: "permd-bench", dependencies: ["CDBus", "DBus", "PermissionTestKit", "TestSupport"],
        path: "Tools/permd-bench",
        exclude: ["peers"], swiftSettings: strict),
    .executableTarget(
        name: "video-call", dependencies: ["PermissionClient"], path: "Examples/swift", swiftSettings: strict),

    .testTarget(
        name: "DBusTests", dependencies: ["CDBus", "DBus", "PermissionTestKit", "TestSupport"],
        swiftSettings: strict),
    .testTarget(name: "PermissionModelTests", dependencies: ["PermissionModel"], swiftSettings: strict),
    .testTarget(
        name: "PolicyFilesTests",
        dependencies: ["PolicyFiles", "PermissionModel", "System", "PermissionTestKit", "TestSupport"],
        swiftSettings: strict),
    .testTarget(
        name: "GuardRulesTests", dependencies: ["GuardRules", "PermissionModel"], swiftSettings: strict),
    .testTarget(
        name: "GateRulesTests", dependencies: ["GateRules", "PermissionModel"], swiftSettings: strict),
    .testTarget(
        name: "GateTests",
        dependencies: [
            "permd-gate", "GateRules", "DBus", "PermissionModel", "PolicyFiles", "ProcessIdentity", "PermissionTestKit",
            "TestSupport", .product(name: "Logging", package: "swift-log"),
        ],
        swiftSettings: strict),
    .testTarget(
        name: "SystemPointTests",
        dependencies: [
            "SystemPoint", "GuardRules", "DBus", "PermissionModel", "ProcessIdentity", "System", "PermissionTestKit",
            "TestSupport", .product(name: "Logging", package: "swift-log"),
        ], swiftSettings: strict),
    .testTarget(name: "PermissionCoreTests", dependencies: ["PermissionCore"], swiftSettings: strict),
    .testTarget(
        name: "CaptureRulesTests", dependencies: ["CaptureRules", "PermissionModel"], swiftSettings: strict),
    .testTarget(
        name: "PermissionDaemonTests",
        dependencies: [
            "PermissionDaemon", "PermissionCore", "PermissionModel", "PolicyFiles", "ProcessIdentity", "System",
            "DeviceNodes", "Journal", "DBus", "CLinux", "CGLib",
            "PermissionTestKit", "TestSupport",
            .product(name: "Logging", package: "swift-log"),
        ],
        swiftSettings: strict),
    .testTarget(
        name: "PermissionClientTests",
        dependencies: [
            "PermissionClient", "EnforcementClient", "PermissionModel", "ProcessIdentity", "DBus",
            "PermissionTestKit", "TestSupport",
        ],
        swiftSettings: strict),
    .testTarget(
        name: "PermissionTextsTests",
        dependencies: ["PermissionTexts", "PermissionClient", "PermissionTestKit", "TestSupport"],
        swiftSettings: strict),
    .testTarget(
        name: "IndicatorTests",
        dependencies: ["permd-indicator", "DBus", "PermissionModel", "PermissionTestKit", "TestSupport"],
        swiftSettings: strict),
    .testTarget(
        name: "PermctlTests",
        dependencies: [
            "permctl", "DBus", "PermissionClient", "PermissionModel", "PermissionTestKit", "TestSupport",
            "PermissionTexts",
        ],
        swiftSettings: strict),
    .testTarget(
        name: "SystemTests",
        dependencies: ["DBus", "PermissionModel", "PermissionTestKit", "TestSupport", "CLinux"],
        exclude: ["gnome-agent.js", "gnome-trust.js", "reuse.py"], swiftSettings: strict),
]

let optionalTargets = mockTargets + layerTargets + windowTargets + pipeWireTargets + guardTargets

let package = Package(
    name: "permd",
    products: [
        .executable(name: "permd", targets: ["permd"]),
        .executable(name: "permctl", targets: ["permctl"]),
        .library(name: "PermissionClient", targets: ["PermissionClient"]),
        .library(name: "PermissionTestKit", targets: ["PermissionTestKit"]),
    ],
    dependencies: [
        pinned("apple", "swift-argument-parser", "1.8.2"),
        pinned("apple", "swift-log", "1.16.2"),
    ] + documentationPlugin,
    targets: [
        // C libraries: headers, and inline shims for what Swift cannot import or cannot call without casts.
        .systemLibrary(name: "CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .systemLibrary(name: "CSystemd", pkgConfig: "libsystemd", providers: [.apt(["libsystemd-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(name: "CLinux"),

        .target(name: "DBus", dependencies: ["CDBus", "CLinux"], swiftSettings: strict),
        .target(name: "PermissionModel", swiftSettings: strict),
        .target(
            name: "Journal",
            dependencies: [
                "DBus", "PermissionModel", "System", "CLinux", "CSystemd",
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: strict),
        .target(name: "System", dependencies: ["DBus", "PermissionModel", "CLinux"], swiftSettings: strict),
        .target(
            name: "ProcessIdentity", dependencies: ["DBus", "PermissionModel", "System", "CLinux"],
            swiftSettings: strict),
        .target(
            name: "PolicyFiles", dependencies: ["PermissionModel", "System", "CLinux"], swiftSettings: strict),
        .target(
            name: "DeviceNodes", dependencies: ["DBus", "System", "CLinux", "CSystemd"], swiftSettings: strict),
        .target(name: "PermissionCore", dependencies: ["PermissionModel"], swiftSettings: strict),
        .target(name: "GuardRules", dependencies: ["PermissionModel"], swiftSettings: strict),
        .target(name: "GateRules", dependencies: ["PermissionModel"], swiftSettings: strict),
        .target(
            name: "SystemPoint",
            dependencies: [
                "GuardRules", "DBus", "PermissionModel", "ProcessIdentity", "System",
                .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: strict),
        .target(
            name: "PermissionDaemon",
            dependencies: [
                "DBus", "DeviceNodes", "PermissionModel", "PermissionCore", "PolicyFiles", "ProcessIdentity", "System",
                "Journal", "CDBus", "CLinux", "CSystemd", "CSQLite",
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict
        ),
        .target(
            name: "PermissionClient", dependencies: ["DBus", "PermissionModel", "ProcessIdentity", "System"],
            swiftSettings: strict),
        .target(
            name: "DesktopServices", dependencies: ["DBus", "PermissionClient", "PermissionModel", "System"],
            swiftSettings: strict),
        .target(name: "PermissionTexts", dependencies: ["PermissionClient", "CLinux"], swiftSettings: strict),
        .executableTarget(
            name: "permd-indicator",
            dependencies: ["DesktopServices", "PermissionClient", "PermissionTexts", "DBus", "System"],
            swiftSettings: strict),
        .target(
            name: "EnforcementClient",
            dependencies: ["DBus", "PermissionModel", "PermissionClient", "ProcessIdentity", "System"],
            swiftSettings: strict),
        .target(name: "CaptureRules", dependencies: ["PermissionModel"], swiftSettings: strict),
        .executableTarget(name: "permd", dependencies: ["PermissionDaemon"], swiftSettings: strict),
        .executableTarget(
            name: "permd-gate",
            dependencies: [
                "GateRules", "GuardRules", "SystemPoint", "DBus", "PermissionModel", "ProcessIdentity", "PolicyFiles",
                "System", "Journal", "CLinux", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "permctl",
            dependencies: [
                "DBus", "DesktopServices", "PermissionClient", "PermissionTexts", "PolicyFiles", "System", "CLinux",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: strict
        ),
        .target(name: "PermissionTestKit", dependencies: ["DBus", "PermissionModel", "System"], swiftSettings: strict),
    ]
        + (hasOnlyPrograms
            ? optionalTargets.filter { !$0.isTest } : optionalTargets + otherTargets + fuzzTargets)
)

// swift-tools-version: 6.1
// The installed libraries: sources that are built into a program or its tests, against the system's libdbus.
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "permd",
    products: [
        .library(name: "PermissionClient", targets: ["PermissionClient"]),
        .library(name: "PermissionTestKit", targets: ["PermissionTestKit"]),
    ],
    targets: [
        .systemLibrary(name: "CDBus", pkgConfig: "dbus-1", providers: [.apt(["libdbus-1-dev"])]),
        .systemLibrary(name: "CLinux"),
        .target(name: "DBus", dependencies: ["CDBus", "CLinux"], swiftSettings: strict),
        .target(name: "PermissionModel", swiftSettings: strict),
        .target(name: "System", dependencies: ["DBus", "PermissionModel", "CLinux"], swiftSettings: strict),
        .target(
            name: "ProcessIdentity", dependencies: ["DBus", "PermissionModel", "System", "CLinux"],
            swiftSettings: strict),
        .target(
            name: "PermissionClient", dependencies: ["DBus", "PermissionModel", "ProcessIdentity", "System"],
            swiftSettings: strict),
        .target(name: "PermissionTestKit", dependencies: ["DBus", "PermissionModel"], swiftSettings: strict),
    ]
)

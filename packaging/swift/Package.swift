// swift-tools-version: 6.1
// The installed PermissionClient: sources that are built into a program, against the system's libdbus.
import PackageDescription

let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
]

let package = Package(
    name: "permd",
    products: [.library(name: "PermissionClient", targets: ["PermissionClient"])],
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
    ]
)

// Programs that run other programs, which are known by the file that they run: interpreters, virtual machines, loaders.
// Where a command line names no file, one stands for any program at all.

package struct Runtime: Sendable {
    /// The names of its executable, without a version.
    let names: [String]
    let options: RuntimeOptions

    private init(_ names: String..., options: RuntimeOptions = RuntimeOptions()) {
        self.names = names
        self.options = options
    }

    /// The runtime with this executable; nil for other programs.
    package init?(executable path: some Sequence<UInt8>) {
        let name = Folders.fileName(of: Array(path))
        let versions = [name, Runtime.withoutVersion(name)]
        guard let found = Runtime.all.first(where: { $0.names.contains(where: versions.contains) }) else { return nil }
        self = found
    }

    /// `python` of `python3.13t` and `python3.11-dbg`, `luajit` of `luajit-2.1.0-beta3`, `ld` of `ld-linux-x86-64.so.2`
    static func withoutVersion(_ name: String) -> String {
        if name.hasPrefix("ld-linux") || name.hasPrefix("ld-musl") || name.hasPrefix("ld64.so") { return "ld" }
        guard let start = name.firstIndex(where: \.isNumber) else { return name }
        var version = name[start...].drop { $0.isNumber || $0 == "." }
        // Builds of Python, with threads, for debugging, or as they were named once.
        if let letter = version.first, "tdmu".contains(letter) { version = version.dropFirst() }
        let bare = name[..<start]
        return version.isEmpty || version.first == "-" ? String(bare.last == "-" ? bare.dropLast() : bare) : name
    }

    /// Whether files that it runs have names of Windows.
    package var isWine: Bool { names.contains("wine") }

    /// Whether it is a shell, whose scripts mostly start other programs.
    package var isShell: Bool { names == Runtime.all[0].names }

    package var isElectron: Bool { names.contains("electron") }

    /// Whether a command line is that of a process which Chromium has started for one of its tasks. Such a process writes its
    /// command line anew, as one argument.
    package static func isTyped(_ arguments: [[UInt8]]) -> Bool {
        let words = arguments.first.map {
            $0.split(separator: UInt8(ascii: " ")) + arguments.dropFirst().map { $0[...] }
        }
        return words?.dropFirst().prefix { $0.first == UInt8(ascii: "-") }
            .contains { $0.starts(with: "--type=".utf8) } ?? false
    }

    /// Returns the argument that names the file which it runs; nil if none does.
    ///
    /// - Parameter arguments: The command line.
    package func file(in arguments: [[UInt8]]) -> [UInt8]? {
        if isWine {
            // Wine gives the first argument the name that the program has in Windows.
            return arguments.first { options.file(in: [$0]) != nil }
        }
        guard names.contains("busybox") else { return options.file(in: arguments.dropFirst()) }
        // The name of the shell is the name by which it was started, or an argument.
        let isNamed = arguments.first.map { names.contains(Folders.fileName(of: $0)) } ?? false
        let rest = isNamed ? arguments.dropFirst() : arguments[...]
        guard let name = rest.first.map(Folders.fileName), let shell = Runtime.all.first,
            shell.names.contains(name)
        else { return nil }
        return shell.options.file(in: rest.dropFirst())
    }

    /// The meaning of the options is that of the manual page of each. The shells come first.
    private static let all: [Runtime] = [
        Runtime(
            "sh", "bash", "dash", "zsh", "ksh", "mksh", "osh", "yash", "ash",
            options: RuntimeOptions(
                flags: "abdefghiklmnprtuvwxyBCDEHILNPTUV", following: "oO",
                words: ["--login", "--norc", "--noprofile", "--posix", "--restricted", "--verbose"],
                valuedWords: ["--rcfile", "--init-file"])),
        Runtime("busybox", "toybox"),
        Runtime(
            "fish",
            options: RuntimeOptions(
                flags: "iNlPnv", valued: "CDdof",
                words: ["--interactive", "--login", "--no-config", "--private", "--no-execute"])),
        Runtime(
            "python", "pypy",
            options: RuntimeOptions(flags: "bBdEhiIOPqsSuvVx", valued: "WX", valuedWords: ["--check-hash-based-pycs"])),
        Runtime(
            "perl", options: RuntimeOptions(flags: "acfgnpsStTuUvwWX", numbered: "0l", attached: "iDFxmM", valued: "I")),
        Runtime(
            "ruby",
            options: RuntimeOptions(
                flags: "aclnpsSTUvwy", numbered: "0W", attached: "Fix", valued: "CEIr",
                words: ["--disable*", "--enable*", "--jit", "--yjit", "--verbose"])),
        Runtime(
            "node", "nodejs",
            options: RuntimeOptions(
                valued: "rC",
                words: [
                    "--no-*", "--harmony*", "--trace-warnings", "--trace-deprecation", "--trace-uncaught",
                    "--enable-source-maps", "--enable-fips", "--expose-gc", "--expose_gc", "--jitless",
                    "--inspect", "--inspect-brk", "--inspect-wait", "--preserve-symlinks",
                    "--preserve-symlinks-main", "--abort-on-uncaught-exception", "--throw-deprecation",
                    "--use-openssl-ca", "--use-bundled-ca", "--use-system-ca", "--experimental-strip-types",
                    "--experimental-transform-types", "--experimental-vm-modules", "--experimental-wasm-modules",
                    "--experimental-require-module", "--experimental-detect-module",
                ],
                assignments: [
                    "--inspect*", "--trace-*", "--max-*", "--experimental-*", "--openssl-*", "--tls-*", "--stack-*",
                    "--v8-*", "--unhandled-rejections", "--dns-result-order", "--title",
                ],
                valuedWords: [
                    "--require", "--import", "--loader", "--experimental-loader", "--conditions", "--env-file",
                ])),
        Runtime("lua", "texlua", options: RuntimeOptions(flags: "iEvW", valued: "el")),
        Runtime("luajit", options: RuntimeOptions(flags: "iEv", attached: "O", valued: "elj")),
        Runtime("php", options: RuntimeOptions(flags: "aefhilmnqsvwC", valued: "cdtz", words: ["--file"])),
        Runtime("tclsh", "wish", "expect", options: RuntimeOptions(flags: "bfiN", valuedWords: ["-encoding"])),
        Runtime(
            "guile",
            options: RuntimeOptions(
                flags: "qs", valued: "elLCx", words: ["--auto-compile", "--no-auto-compile", "--debug"])),
        Runtime(
            "gjs", "gjs-console",
            options: RuntimeOptions(
                flags: "md", valued: "IC", words: ["--module", "--debugger"], valuedWords: ["--include-path"])),
        Runtime(
            "pwsh",
            options: RuntimeOptions(
                words: ["-NoProfile", "-NoLogo", "-NonInteractive", "-NoExit", "-Login", "-File"],
                valuedWords: ["-ExecutionPolicy", "-WorkingDirectory"])),
        Runtime(
            "deno",
            options: RuntimeOptions(
                flags: "Aqrn", words: ["--allow-*", "--deny-*", "--no-*", "--unstable*", "--quiet", "--cached-only"],
                valuedWords: ["--config", "--import-map", "--lock", "--cert"], commands: ["run"],
                endings: [".js", ".ts", ".mjs", ".mts", ".cjs", ".jsx", ".tsx"])),
        Runtime(
            "bun",
            options: RuntimeOptions(
                words: ["--bun", "--smol", "--hot", "--watch", "--silent"], valuedWords: ["--preload"],
                commands: ["run"],
                endings: [".js", ".ts", ".mjs", ".mts", ".cjs", ".jsx", ".tsx"])),
        Runtime(
            "R", "Rscript",
            options: RuntimeOptions(
                words: ["--no-*", "--vanilla", "--slave", "--quiet", "--silent", "--verbose", "--default-packages"],
                choosing: ["--file", "-f"], endings: [".r"])),
        Runtime(
            "julia",
            options: RuntimeOptions(
                flags: "iq", valued: "LptJOg",
                words: ["--project", "--startup-file", "--history-file", "--color", "--quiet"],
                valuedWords: ["--load", "--threads", "--procs", "--sysimage", "--optimize"])),
        Runtime(
            "qml", "qmlscene",
            options: RuntimeOptions(valued: "Ic", words: ["--verbose", "--quiet"], valuedWords: ["-apptype", "-a"])),
        Runtime(
            "java",
            options: RuntimeOptions(
                words: [
                    "-D*", "-X*", "-ea*", "-da*", "-esa", "-dsa", "-agentlib:*", "-agentpath:*", "-javaagent:*",
                    "-splash:*",
                    "-server", "-client", "-verbose*", "--enable-preview",
                ],
                valuedWords: [
                    "-cp", "-classpath", "--class-path", "-p", "--module-path", "--add-modules", "--add-exports",
                    "--add-opens", "--add-reads", "--patch-module", "--limit-modules", "--enable-native-access",
                ],
                choosing: ["-jar"], endings: [".java"])),
        Runtime(
            "mono", "mono-sgen",
            options: RuntimeOptions(
                words: ["--debug", "--optimize", "-O", "--server", "--gc", "--llvm", "--runtime"],
                valuedWords: ["--config"])),
        Runtime(
            "dotnet",
            options: RuntimeOptions(
                valuedWords: [
                    "--runtimeconfig", "--depsfile", "--additionalprobingpath", "--roll-forward", "--fx-version",
                ],
                commands: ["exec"], endings: [".dll", ".exe"])),
        // A switch of Chromium has no value in the next argument.
        Runtime(
            "electron",
            options: RuntimeOptions(
                valued: "r", words: ["--*"], refused: ["--eval", "--print", "--import", "--require"])),
        Runtime(
            "wine", "wine64", "wine-preloader", "wine64-preloader", options: RuntimeOptions(endings: [".exe", ".msi"])),
        Runtime(
            "ld",
            options: RuntimeOptions(
                words: ["--inhibit-cache"],
                valuedWords: ["--library-path", "--argv0", "--preload", "--audit", "--inhibit-rpath"])),
    ]
}

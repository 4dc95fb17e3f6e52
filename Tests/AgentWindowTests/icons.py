"""Writes valid and hostile icons into a folder: all of them, or those that are named."""

import base64
import os
import struct
import sys
import zlib

SVG = '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" width="48" height="48">'


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(side, depth, kind, row, more=b""):
    packer = zlib.compressobj(9)
    pixels = b"".join(packer.compress(bytes(row + 1)) for _ in range(side)) + packer.flush()
    header = struct.pack(">IIBBBBB", side, side, depth, kind, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + more + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


def pixels():
    """A file of 80 KB with two gigabytes of pixels."""
    return png(26000, 1, 0, 3250)


def text():
    """800 megabytes of text chunks beside the pixels."""
    packed = zlib.compress(b"a" * 7_900_000, 9)
    return png(48, 8, 6, 192, b"".join(chunk(b"zTXt", b"k%d\0\0" % number + packed) for number in range(100)))


def nested():
    """An SVG drawing that contains the image of pixels()."""
    data = base64.b64encode(pixels())
    return SVG.encode() + b'<image width="48" height="48" xlink:href="data:image/png;base64,' + data + b'"/></svg>'


def use():
    """Thirty nested groups, each using the one before ten times."""
    groups = "".join(f'<g id="a{number}">' + f'<use xlink:href="#a{number - 1}"/>' * 10 + "</g>" for number in range(1, 30))
    return (SVG + '<g id="a0"><rect width="9" height="9"/></g>' + groups + "</svg>").encode()


def noise():
    """A filter that never ends."""
    effect = '<feTurbulence baseFrequency="0.9" numOctaves="2000000000"/>'
    return (SVG + f'<filter id="f">{effect}</filter><rect width="48" height="48" filter="url(#f)"/></svg>').encode()


def drawing():
    return (SVG.replace('"48"', '"4096"') + '<rect width="4096" height="2048" fill="red"/></svg>').encode()


ICONS = {
    "good.png": lambda: png(256, 8, 6, 1024), "good.svg": drawing, "pixels.png": pixels, "text.png": text,
    "nested.svg": nested, "use.svg": use, "filter.svg": noise,
    "large.png": lambda: png(48, 8, 6, 192) + bytes(3 << 20),
}

for name in sys.argv[2:] or [*ICONS, "fifo"]:
    path = os.path.join(sys.argv[1], name)
    if name == "fifo":
        os.mkfifo(path)
    elif name in ICONS:
        with open(path, "wb") as file:
            file.write(ICONS[name]())

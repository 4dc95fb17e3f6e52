#!/usr/bin/python3
"""Prints an SPDX 2.3 document about Debian packages of permd: what is linked into them, and on what they depend.

sbom.py FOLDER: the folder with the .deb files.
"""

import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()


def identifier(name):
    return "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", name)


def package(name, version, purl, licence="NOASSERTION", **more):
    reference = {"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}
    return {
        "SPDXID": identifier(name), "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
        "filesAnalyzed": False, "licenseConcluded": licence, "licenseDeclared": licence,
        "copyrightText": "NOASSERTION", "externalRefs": [reference], **more}


def swift_package(name, licence):
    """A package at the version that Package.swift names."""
    owner, version = re.search(rf'pinned\("(\w+)", "{name}", "([\d.]+)"\)', (ROOT / "Package.swift").read_text()).groups()
    return package(name, version, f"pkg:swift/github.com/{owner}/{name}@{version}", licence)


def installed(name):
    """A Debian package in the version that was there for the build; None for one that is not needed by a build."""
    try:
        version = output("dpkg-query", "-W", "-f=${Version}", name)
    except subprocess.CalledProcessError:
        version = ""
    return package(name, version, f"pkg:deb/debian/{name}@{version}") if version else None


def relation(subject, kind, other):
    return {"spdxElementId": subject, "relationshipType": kind, "relatedSpdxElement": other}


packages, relations, digests = {}, [], hashlib.sha256()
for file in sorted(pathlib.Path(sys.argv[1]).glob("*.deb")):
    name, version = (output("dpkg-deb", "-f", file, field) for field in ("Package", "Version"))
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    digests.update(digest.encode())
    packages[name] = package(
        name, version, f"pkg:deb/debian/{name}@{version}", "Apache-2.0", packageFileName=str(file),
        checksums=[{"algorithm": "SHA256", "checksumValue": digest}])
for name, built in list(packages.items()):
    depends = output("dpkg-deb", "-f", built["packageFileName"], "Depends")
    built["packageFileName"] = pathlib.Path(built["packageFileName"]).name
    relations.append(relation("SPDXRef-DOCUMENT", "DESCRIBES", built["SPDXID"]))
    # Of alternatives, the first that was there.
    for alternatives in filter(None, depends.split(", ")):
        names = [re.match(r"\s*([^\s(:]+)", alternative)[1] for alternative in alternatives.split("|")]
        found = next(filter(None, (packages.get(other) or installed(other) for other in names)), None)
        if found:
            packages.setdefault(found["name"], found)
            relations.append(relation(built["SPDXID"], "DEPENDS_ON", found["SPDXID"]))

swift = re.search(r"Swift version ([\d.]+)", output("swift", "--version"))[1]
exception = "Apache-2.0 WITH Swift-exception"
parts = [
    (swift_package("swift-log", "Apache-2.0"), "STATIC_LINK", ["permd", "permd-gate", "permd-guard", "permd-pipewire"]),
    (swift_package("swift-argument-parser", exception), "STATIC_LINK", ["permd"]),
    (package("swift", swift, f"pkg:swift/github.com/swiftlang/swift@{swift}", exception), "CONTAINS", ["permd"]),
]
for part, kind, holders in parts:
    packages[part["name"]] = part
    relations += [relation(identifier(holder), kind, part["SPDXID"]) for holder in holders if holder in packages]

permd = packages["permd"]
created = datetime.datetime.fromtimestamp(int(output("dpkg-parsechangelog", "-S", "Timestamp")), datetime.timezone.utc)
json.dump(
    {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"permd-{permd['versionInfo']}",
        "documentNamespace": f"https://permd.example/spdx/permd-{permd['versionInfo']}-{digests.hexdigest()[:16]}",
        "creationInfo": {"created": created.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: permd-sbom"]},
        "packages": list(packages.values()), "relationships": relations,
    }, sys.stdout, indent=2)
print()

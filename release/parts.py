"""The parts of the program: a CycloneDX list and the licences of all crates.

    python3 release/parts.py VERSION LIST.cdx.json LICENCES.md
"""

import hashlib
import json
import re
import subprocess
import sys
from pathlib import Path

version, listed, licences = sys.argv[1:]
run = ["cargo", "metadata", "--format-version", "1", "--locked", "--filter-platform", "x86_64-unknown-linux-gnu"]
metadata = json.loads(subprocess.run(run, check=True, capture_output=True).stdout)
packages = {package["id"]: package for package in metadata["packages"]}
nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}


def needed(root: str) -> set[str]:
    """The packages that a build of `root` contains: no dependencies of tests or build scripts."""
    found, todo = {root}, [root]
    while todo:
        for link in nodes[todo.pop()]["deps"]:
            usual = any(kind["kind"] is None for kind in link["dep_kinds"])
            if usual and link["pkg"] not in found:
                found.add(link["pkg"])
                todo.append(link["pkg"])
    return found


root = next(id for id, package in packages.items() if package["name"] == "kgagent")
own = set(metadata["workspace_members"])
parts = sorted((packages[id] for id in needed(root) - own), key=lambda package: (package["name"], package["version"]))

components = [
    {
        "type": "library",
        "name": package["name"],
        "version": package["version"],
        "purl": f"pkg:cargo/{package['name']}@{package['version']}",
        "licenses": [{"expression": (package["license"] or "NOASSERTION").replace("/", " OR ")}],
    }
    for package in parts
]
bill = {
    "bomFormat": "CycloneDX",
    "specVersion": "1.5",
    "version": 1,
    "metadata": {"component": {"type": "application", "name": "kgagent", "version": version}},
    "components": components,
}
Path(listed).write_text(json.dumps(bill, indent=1) + "\n")

texts: dict[str, tuple[str, list[str]]] = {}
for package in parts:
    folder = Path(package["manifest_path"]).parent
    files = [file for file in sorted(folder.iterdir()) if re.match(r"(?i)(licen[cs]e|copying|notice|unlicense)", file.name) and file.is_file()]
    for file in files:
        text = file.read_text(errors="replace").strip()
        key = hashlib.sha256(re.sub(r"\s+", " ", text).encode()).hexdigest()
        texts.setdefault(key, (text, []))[1].append(f"{package['name']} {package['version']}")

lines = ["# Parts of kgagent", "", "kgagent is licensed under Apache-2.0 (LICENSE). It contains these crates:", ""]
lines += [f"- {package['name']} {package['version']}: {package['license']}" for package in parts]
for text, names in sorted(texts.values(), key=lambda pair: pair[1]):
    lines += ["", f"## {', '.join(dict.fromkeys(names))}", "", "```text", text, "```"]
Path(licences).write_text("\n".join(lines) + "\n")

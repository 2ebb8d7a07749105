"""Builds the release's image with buildah, on a bare Debian root in the place of the base image, which no registry of ours has; and runs it."""
import json, os, re, shutil, subprocess

from setup.network import ensure_program

from .facts import PUBLISHER, VERSION


def run(out, scratch, root):
    """Raises RuntimeError where a step fails. `root`: the folder of a Debian root."""
    ensure_program("buildah", "buildah")
    # Only what the image copies: the folder is sent to the builder.
    context = scratch / "context"
    context.mkdir()
    for file in (out / "Dockerfile", *out.glob("*.deb")):
        shutil.copy(file, context)
    base = re.search(r"^FROM (\S+)", (out / "Dockerfile").read_text(), re.M)[1]
    container = buildah(scratch, "from", "scratch")
    buildah(scratch, "add", "--quiet", container, root, "/")
    buildah(scratch, "commit", "--quiet", container, f"docker.io/library/{base}")
    buildah(scratch, "bud", "--isolation", "chroot", "--pull-never", "--tag", "tandem:try", context)
    started = buildah(scratch, "from", "--pull-never", "localhost/tandem:try")
    described = json.loads(buildah(scratch, "inspect", "--type", "image", "localhost/tandem:try"))["OCIv1"]["config"]
    printed = buildah(scratch, "run", "--isolation", "chroot", started, "--", *described["Entrypoint"], "--version")
    for found, wanted, what in ((printed, f"tandem-mcp {VERSION}", "the version"), (described["WorkingDir"], "/work", "the folder"),
                                (described["Labels"]["io.modelcontextprotocol.server.name"], PUBLISHER["mcpName"], "the registry's label")):
        if found != wanted:
            raise RuntimeError(f"{what}: {found!r}, not {wanted!r}")


def buildah(scratch, *words):
    command = ["buildah", "--root", scratch / "images", "--runroot", scratch / "running", *words]
    done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
                          env={**os.environ, "STORAGE_DRIVER": "vfs"}, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(f"`buildah {words[0]}` failed: {done.stderr[-2000:]}")
    return done.stdout.strip()

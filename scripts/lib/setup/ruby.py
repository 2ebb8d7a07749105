"""The versions of Ruby's gem `debug` that the tests debug with: the one that comes with the machine's Ruby, and a pinned one."""
import shlex, tarfile

from .cache import verify_hash, install_pinned
from .commands import run, log_progress
from .network import download_from_archive, ensure_file, ensure_package

# Ruby's source in Debian 13 brings this version of the gem.
VERSION = "1.9.2"
ARCHIVE_PATH = "pool/main/r/ruby3.3/ruby3.3_3.3.8.orig.tar.xz"
SHA256 = "e2e1233ad275b7623a05edf23a01192626d1da454bdfe353a28a87acd8ef015c"
GEM_FOLDER = f"ruby-3.3.8/.bundle/gems/debug-{VERSION}/"


def evaluate_ruby(ruby, expression):
    """Evaluates an expression with the machine's Ruby."""
    return run(ruby, "-rrbconfig", "-e", f"print {expression}").strip()


def make_gem(scratch, ruby):
    log_progress(f"fetching the gem debug {VERSION}")
    made = scratch / "made"
    with tarfile.open(verify_hash(download_from_archive(ARCHIVE_PATH, scratch / "ruby.tar.xz"), SHA256)) as tar:
        for member in tar:
            if member.isfile() and member.name.startswith(GEM_FOLDER):
                file = made / member.name[len(GEM_FOLDER):]
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(tar.extractfile(member).read())
    source = made / "ext/debug"
    (source / "debug_version.h").write_text(f'#define RUBY_DEBUG_VERSION "{VERSION}"\n')
    headers = [evaluate_ruby(ruby, f"RbConfig::CONFIG['{name}']") for name in ("rubyhdrdir", "rubyarchhdrdir")]
    # As its extconf.rb has it for Ruby 3.1 and newer.
    defined = [f"-DHAVE_RB_ISEQ{name}" for name in ("", "_PARAMETERS", "_CODE_LOCATION", "_TYPE")]
    run("cc", "-shared", "-fPIC", "-O2", "-w", *defined, *(f"-I{folder}" for folder in headers), "-o", made / "lib/debug/debug.so",
        *sorted(source.glob("*.c")), cwd=source)
    wrapper = made / "rdbg"
    wrapper.write_text('#!/bin/sh\nown=$(dirname "$(readlink -f "$0")")\n'
                       f'RUBYLIB=$own/lib${{RUBYLIB:+:$RUBYLIB}} exec {shlex.quote(ruby)} "$own/exe/rdbg" "$@"\n')
    wrapper.chmod(0o755)
    return made


def install_gems():
    """The machine's Ruby, the version of its gem, and the other one: its `rdbg`, the folder for RUBYLIB, and its version."""
    ruby = ensure_package("ruby", "ruby")
    ensure_file(evaluate_ruby(ruby, "RbConfig::CONFIG['rubyhdrdir']") + "/ruby.h", "ruby-dev")
    machine = evaluate_ruby(ruby, "Gem::Specification.find_by_name('debug').version")
    # A gem that is compiled for one Ruby does not run in another.
    pins = [VERSION, SHA256, ruby, evaluate_ruby(ruby, "RUBY_DESCRIPTION")]
    made = install_pinned(f"debug-{VERSION}", pins, lambda scratch: make_gem(scratch, ruby))
    return {"ruby": ruby, "rubyDebug": machine, "rdbg192": str(made / "rdbg"), "rdbg192Lib": str(made / "lib"), "rdbg192Debug": VERSION}

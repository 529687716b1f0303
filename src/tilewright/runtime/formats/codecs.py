"""What a zarr array may be packed with: codecs that only turn bytes into bytes, or into numbers.

numcodecs' ``pickle`` runs what it unpacks, and whatever is installed may add codecs of its own. So the metadata are
read before zarr is asked to open an array, and codecs that are not listed are refused.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from tilewright.base.documents import decode_json
from tilewright.base.errors import ArrayError
from tilewright.base.paths import read_bounded

_PLAIN = re.compile(
    r"bytes|endian|sharding_indexed|transpose|(numcodecs\.)?(adler32|astype|bitround|blosc|bz2|crc32|crc32c|delta|"
    r"fixedscaleoffset|fletcher32|gzip|jenkins_lookup3|lz4|lzma|packbits|pcodec|quantize|shuffle|zfpy|zlib|zstd)"
)
_METADATA = ("zarr.json", ".zarray")
_LARGEST_METADATA = 2**24
_OF_CODECS = frozenset({"codecs", "compressor", "compressors", "filters", "index_codecs", "serializer"})


def check_codecs(*folders: Path) -> None:
    """Check what the arrays of these folders are packed with; nothing of zarr is called."""
    # A group's metadata may repeat those of its arrays; groups are opened without these copies.
    for folder in folders:
        for name in _METADATA:
            if (folder / name).is_file():
                data = read_bounded(folder / name, _LARGEST_METADATA, "metadata file")
                check_metadata(decode_json(data, f"the metadata file {str(folder / name)!r}"), str(folder))


def check_metadata(document: object, name: str) -> None:
    """Check what an array is packed with, as its metadata say."""
    for codec in _codecs(document):
        if not isinstance(codec, str) or not _PLAIN.fullmatch(codec):
            raise ArrayError(
                f"{name!r} is packed with the codec {codec!r:.60}, which is not read: it may run code",
                "write it anew with zstd, gzip or blosc",
            )


def _codecs(node: object) -> Iterator[object]:
    """Names of the codecs of metadata, also of those inside others; what users wrote as attributes names none."""
    if not isinstance(node, Mapping):
        return
    for key, value in node.items():
        if key in _OF_CODECS:
            for each in value if isinstance(value, list | tuple) else [value]:
                if isinstance(each, Mapping):
                    yield from (each[name] for name in ("id", "name") if name in each)
                elif each is not None:
                    yield getattr(each, "codec_id", each)  # zarr shows numcodecs' own objects
                yield from _codecs(each)
        elif key == "configuration":
            yield from _codecs(value)

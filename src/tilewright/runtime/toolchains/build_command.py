"""Build commands of tuning specifications: read into a list of arguments, never given to a shell.

A command names a compiler of an allow-list and flags. Flags that only choose optimisations are kept; paths and
libraries are dropped, since the code that is built here is ours; what can run or write something is refused.
"""

import platform
import re
import shlex
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath

from tilewright.base.errors import UsageError

MAX_COMMAND = 2000
COMPILERS = frozenset(
    {"cc", "gcc", "clang", "g++", "c++", "clang++", "icc", "icx", "icpc", "nvcc", "nvc", "pgcc", "xlc", "mpicc"}
)
"""Compilers that a specification may name, also with a version behind a dash."""
_BAD = re.compile(r"[;&|<>`$\\\n\r\0(){}*?!~^%]|\.\./")
_KEEP = re.compile(
    r"-O(?:[0-3sgz]|fast)?|-m(?:arch|tune|cpu)=[\w.+-]+|-m(?:avx\w*|sse[\w.]*|fma|prefer-vector-width=\d+)|-std=[\w+]+"
    r"|-f(?:no-)?(?:unroll-(?:all-)?loops|tree-(?:loop-)?vectorize|tree-slp-vectorize|fast-math|math-errno|omit-frame-pointer|"
    r"openmp|openmp-simd|associative-math|finite-math-only|trapping-math|signed-zeros|strict-aliasing|wrapv|"
    r"ipa-cp-clone|prefetch-loop-arrays|split-loops|peel-loops|unswitch-loops|loop-interchange|inline-functions|"
    r"vect-cost-model|reciprocal-math|ffp-contract|schedule-insns2?|modulo-sched|gcse|rename-registers)"
    r"|-ffp-contract=(?:off|fast|on)|-fvect-cost-model=[a-z-]+|-funsafe-math-optimizations|-g\d?|-pipe|-w|-W(?:all|extra)"
)
_LEVEL = re.compile(r"-O(?:[0-3sgz]|fast)?")
_DEFINE = re.compile(r"-[DU][A-Za-z_]\w*(?:=[\w.+-]*)?")
_DROPPED = re.compile(
    r"-[lILi][\w./:+=-]+|-x?[hH]ost|-xHost|-restrict|-ipo|-no-vec|-parallel|-qopenmp|-vec-report\d?|-q[\w=]+|-arch=?[\w]*"
    r"|-use_fast_math|--use_fast_math|-lineinfo|-maxrregcount=?\d*|-gencode=?[\w=,]*|-ftz=\w+|-prec-\w+=\w+|-f?openmp|-fast"
    r"|-f(?:PIC|pic|PIE|pie|common|no-common|permissive)|-mcmodel=\w+|-mfpmath=[\w+,]+|-m(?:32|64)|-pthread|-rdynamic|-shared|-static"
    r"|-(?:no-)?(?:align|prec-div|prec-sqrt|inline|opt-\w[\w=-]*|ansi-alias)|-fp-model=?\w*|-a?x(?:AVX|CORE|SSE|MIC)[\w.-]*|-c"
    r"|-rdc=\w+|-code=\w+|--ptxas-options=[\w-]+|-Xptxas=[\w,=-]+|-framework=[A-Za-z]\w*|-Xcompiler=-[fmO][\w=-]*|-qopt-\w[\w=-]*"
)
_TWO_WORDS = frozenset({"-arch", "-gencode", "-maxrregcount", "-framework", "-Xptxas", "-Xcompiler", "-fp-model"})
"""Flags whose value is the next word."""
_VARIABLE = re.compile(
    r"(?P<before>^|\s)\$(?:\((?P<one>[A-Z_]\w*)\)|\{(?P<two>[A-Z_]\w*)\}|(?P<three>[A-Z_]\w*))(?=\s|$)"
)
"""A variable of make's or a shell's, as a word of its own."""
_MAPPED = {"-use_fast_math": "-ffast-math", "--use_fast_math": "-ffast-math", "-fast": "-O3", "-openmp": "-fopenmp"}
OLDEST_ARCHITECTURE = 75  # oldest compute capability that current CUDA compilers make code for


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildCommand:
    """A build command."""

    compiler: str
    flags: tuple[str, ...] = ()  # what is kept, for a C compiler
    defines: tuple[tuple[str, str], ...] = ()  # names that it defines
    architecture: str = ""  # ``sm_…`` for CUDA, or empty
    fast_math: bool = False  # whether CUDA's fast mathematics is asked for
    notes: tuple[str, ...] = ()  # what was dropped or changed


_PARAMETER = re.compile(r"@([A-Za-z_]\w*)@?")


def substitute(command: str, values: Mapping[str, object]) -> str:
    """Put parameters into a command: ``@NAME@`` and ``@NAME``; a name that is no parameter leaves nothing behind.

    >>> substitute("gcc -O@L@ @CFLAGS @X@", {"L": 3, "CFLAGS": "-g"})
    'gcc -O3 -g '
    """
    return _PARAMETER.sub(lambda match: str(values.get(match[1], "")), command)


def unknown_parameters(command: str, names: Collection[str]) -> tuple[str, ...]:
    """Return the names that a command uses and that are no parameters."""
    return tuple(dict.fromkeys(name for name in _PARAMETER.findall(command) if name not in names))


def parse_build_command(text: str, allowed: Collection[str] = ()) -> BuildCommand:
    """Read a build command, its parameters put in; the user permits the further compilers ``allowed``."""
    if len(text) > MAX_COMMAND:
        raise UsageError(f"a build command has at most {MAX_COMMAND} characters, got {len(text)}")
    text, variables = _without_variables(text)
    bad = _BAD.search(text)
    if bad is not None:
        raise UsageError(
            f"a build command is a compiler and its flags, got {bad[0]!r} in {text[:80]!r}", "no shell is used"
        )
    try:
        words = shlex.split(text)
    except ValueError as error:
        raise UsageError(f"the build command {text[:80]!r} cannot be read: {str(error).lower()}") from None
    if not words:
        raise UsageError("a build command names a compiler, got an empty one")
    compiler = _compiler(words[0], allowed)
    command = _read_flags(compiler, words[1:])
    return replace(command, notes=(*variables, *command.notes))


def _without_variables(text: str) -> tuple[str, tuple[str, ...]]:
    """Replace variables, which have no value here: the first word is this machine's compiler, others are left out."""
    notes: list[str] = []

    def change(match: "re.Match[str]") -> str:
        first = not text[: match.start()].strip()
        notes.append(f"the variable {match[0].strip()!r} {'is the C compiler cc' if first else 'is left out'}")
        return match["before"] + ("cc" if first else "")

    return _VARIABLE.sub(change, text), tuple(dict.fromkeys(notes))


def _compiler(word: str, allowed: Collection[str]) -> str:
    if word in allowed:
        return word
    plain = re.sub(r"(?:-mp)?-\d+(?:\.\d+)*$", "", word)
    if plain not in COMPILERS:
        raise UsageError(
            f"a build command runs one of {', '.join(sorted(COMPILERS))}, got {PurePosixPath(word).name[:60]!r}",
            f"permit it with --allow-compiler {word[:60]}",
        )
    return word


def _read_flags(compiler: str, words: Sequence[str]) -> BuildCommand:
    flags: list[str] = []
    defines: list[tuple[str, str]] = []
    notes: list[str] = []
    architecture, fast = "", False
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        if word in _TWO_WORDS and place < len(words):
            word = f"{word}={words[place]}"
            place += 1
        if word in {"-o", "-S", "-E"} or not word.startswith("-"):
            if word == "-o" and place < len(words) and re.fullmatch(r"[\w.]+", words[place]):
                place += 1
                continue
            raise UsageError(f"a build command holds flags that choose optimisations, got {word[:60]!r}")
        if _DEFINE.fullmatch(word):
            name, _, value = word[2:].partition("=")
            defines += [(name, value or "1")] if word.startswith("-D") else []
        elif _KEEP.fullmatch(word):
            flags.append(word)
        elif _DROPPED.fullmatch(word):
            match = re.search(r"sm_(\d+)", word)
            architecture = f"sm_{match[1]}" if match else architecture
            fast = fast or "use_fast_math" in word
            flags += [_MAPPED[word]] if word in _MAPPED else []
            notes += (
                [] if word.startswith(("-arch", "-use_fast", "-lm", "-lrt")) else [f"the flag {word!r} is left out"]
            )
        else:
            raise UsageError(f"a build command holds flags that choose optimisations, got {word[:60]!r}")
    return BuildCommand(
        compiler=compiler,
        flags=tuple(flags),
        defines=tuple(defines),
        architecture=architecture,
        fast_math=fast,
        notes=tuple(dict.fromkeys(notes)),
    )


def optimised(flags: Sequence[str]) -> tuple[str, ...]:
    """Return flags with the best general ones before them, where they name no level or no processor themselves.

    >>> optimised(["-O2", "-march=x86-64"]), optimised(["-march=x86-64"])
    (('-O2', '-march=x86-64'), ('-O3', '-march=x86-64'))
    """
    own = "-mcpu=native" if platform.machine().lower() in {"aarch64", "arm64"} else "-march=native"
    level = () if any(_LEVEL.fullmatch(flag) for flag in flags) else ("-O3",)
    processor = () if any(flag.startswith(("-march=", "-mcpu=")) for flag in flags) else (own,)
    return (*level, *processor, *flags)


def full_level(command: Sequence[str]) -> tuple[str, ...]:
    """Return a command whose level of optimisation is at least the third.

    >>> full_level(["gcc", "-O0", "-g"]), full_level(["gcc", "-Ofast"])
    (('gcc', '-O3', '-g'), ('gcc', '-Ofast'))
    """
    return tuple("-O3" if _LEVEL.fullmatch(word) and word not in {"-O3", "-Ofast"} else word for word in command)


def current_architecture(architecture: str) -> tuple[str, str]:
    """Return an architecture that current compilers know, and a warning if it is not the one that was asked for.

    >>> current_architecture("sm_20")[0], current_architecture("sm_90")
    ('sm_75', ('sm_90', ''))
    """
    match = re.fullmatch(r"sm_(\d+)[af]?", architecture)
    if match is None:
        return f"sm_{OLDEST_ARCHITECTURE}", ""
    if int(match[1]) < OLDEST_ARCHITECTURE:
        now = f"sm_{OLDEST_ARCHITECTURE}"
        return now, f"current CUDA compilers make no code for {architecture}, so {now} is used"
    return architecture, ""

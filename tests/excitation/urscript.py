"""A small URScript: its grammar, and a controller that runs programs with threads and sockets.

Stricter than a real controller where that finds faults: every name is declared, a variable and a
list element keep their type, integers are not divided, and a loop that does not give time back is
an error.
"""

from __future__ import annotations

import math
import re
import socket
import struct
from collections.abc import Generator
from dataclasses import dataclass, field
from typing import Any

import lark

GRAMMAR = r"""
start: _NL? "def" NAME "(" ")" ":" block "end" _NL?
block: _NL (statement _NL)+
?statement: function | thread | branch | loop | declaration | assignment | item | result | halt
          | join | expression
function: "def" NAME "(" [NAME ("," NAME)*] ")" ":" block "end"
thread: "thread" NAME "(" ")" ":" block "end"
branch: "if" expression ":" block ("elif" expression ":" block)* ["else" ":" block] "end"
loop: "while" expression ":" block "end"
declaration: (GLOBAL | LOCAL) NAME "=" value
assignment: NAME "=" value
item: NAME "[" expression "]" "=" expression
result: "return" expression
halt: "halt"
join: "join" NAME
?value: run | expression
run: "run" NAME "(" ")"

?expression: conjunction | expression OR conjunction -> binary
?conjunction: negation | conjunction AND negation -> binary
?negation: comparison | NOT negation -> unary
?comparison: sum | sum COMPARE sum -> binary
?sum: product | sum (PLUS | MINUS) product -> binary
?product: sign | product TIMES sign -> binary
?sign: atom | MINUS sign -> unary
?atom: FLOAT -> float
     | INTEGER -> literal
     | STRING -> literal
     | (TRUE | FALSE) -> literal
     | NAME "(" [argument ("," argument)*] ")" -> call
     | NAME "[" expression "]" -> element
     | NAME -> name
     | "[" expression ("," expression)* "]" -> list
     | "(" expression ")"
argument: [NAME "="] expression

GLOBAL: "global"
LOCAL: "local"
TRUE: "True"
FALSE: "False"
OR: "or"
AND: "and"
NOT: "not"
COMPARE: "==" | "!=" | "<=" | ">=" | "<" | ">"
PLUS: "+"
MINUS: "-"
TIMES: "*" | "/" | "%"
FLOAT: /\d+\.\d+([eE][-+]?\d+)?/
INTEGER: /\d+/
STRING: /"[^"\n]*"/
NAME: /[A-Za-z_]\w*/
_NL: /([ \t]*(#[^\n]*)?\n)+[ \t]*/
%ignore /[ \t]+/
"""
PARSER = lark.Lark(GRAMMAR, parser="lalr")
BLOCKING = ("servoj", "movej", "stopj", "sync", "socket_read_binary_integer", "popup")
PLAIN = (
    "sin", "cos", "norm", "get_steptime", "get_actual_joint_positions", "textmsg", "socket_open",
    "socket_send_int", "socket_close",
)  # fmt: skip
TURNS = 5_000  # of a loop between two times that a thread gives the processor back

Thread = Generator[None, None, Any]


class Halt(Exception):
    """The program ended itself."""


class Broken(Exception):
    """The program does what a controller would refuse."""


class Translation:
    """Python source of a program: every function a generator that yields at each step."""

    def __init__(self, text: str) -> None:
        require_form(text)
        (self.name, block) = PARSER.parse(text).children
        self.functions = {
            str(t.children[0]): len([c for c in t.children[1:-1] if c is not None])
            for t in block.iter_subtrees()
            if t.data in ("function", "thread")
        }
        self.globals = {
            str(t.children[1])
            for t in block.iter_subtrees()
            if t.data == "declaration" and t.children[0] == "global"
        }
        self.pieces: list[str] = []
        self.function("program", [], block)

    @property
    def source(self) -> str:
        """All functions."""
        return "\n".join(self.pieces)

    def function(self, name: str, parameters: list[str], block: lark.Tree) -> None:
        """Add a function."""
        local = set(parameters)
        lines = self.block(block, local, "    ")
        arguments = ", ".join(f"v_{p}" for p in parameters)
        start = f"def f_{name}({arguments}):\n    if False: yield\n"
        self.pieces.append(start + "\n".join(lines))

    def block(self, block: lark.Tree, local: set[str], indent: str) -> list[str]:
        """Lines of a block."""
        return [line for t in block.children for line in self.statement(t, local, indent)]

    def statement(self, t: lark.Tree, local: set[str], indent: str) -> list[str]:
        """Lines of a statement; what it declares joins ``local``."""
        match t.data:
            case "function" | "thread":
                name, *parameters, body = t.children
                self.function(str(name), [str(p) for p in parameters if p is not None], body)
                return []
            case "branch":
                *pairs, other = t.children
                lines = []
                for k in range(0, len(pairs), 2):
                    word = "elif" if k else "if"
                    lines.append(f"{indent}{word} truth({self.expression(pairs[k], local)}):")
                    lines += self.block(pairs[k + 1], local, indent + "    ")
                if other is not None:
                    lines += [f"{indent}else:", *self.block(other, local, indent + "    ")]
                return lines
            case "loop":
                condition, body = t.children
                head = f"{indent}while m.turn() and truth({self.expression(condition, local)}):"
                return [head, *self.block(body, local, indent + "    ")]
            case "declaration":
                scope, name, value = t.children
                text = self.expression(value, local)
                if scope == "local":
                    if name in self.globals:
                        raise Broken(f"local '{name}' hides a global")
                    local.add(str(name))
                    return [f"{indent}v_{name} = copied({text})"]
                return [f"{indent}g.{name} = copied({text})"]
            case "assignment":
                name, value = t.children
                target = self.variable(name, local)
                return [f"{indent}{target} = same({target}, {self.expression(value, local)})"]
            case "item":
                target = self.variable(t.children[0], local)
                index, value = (self.expression(c, local) for c in t.children[1:])
                return [f"{indent}put({target}, {index}, {value})"]
            case "result":
                return [f"{indent}return {self.expression(t.children[0], local)}"]
            case "halt":
                return [f"{indent}raise Halt"]
            case "join":
                return [f"{indent}yield from m.join({self.variable(t.children[0], local)})"]
            case _:
                return [indent + self.expression(t, local)]

    def expression(self, t: lark.Tree, local: set[str]) -> str:
        """Python of an expression."""
        match t.data:
            case "float" | "literal":
                return str(t.children[0])
            case "name":
                return self.variable(t.children[0], local)
            case "list":
                return f"[{', '.join(self.expression(c, local) for c in t.children)}]"
            case "element":
                name, index = t.children
                return f"at({self.variable(name, local)}, {self.expression(index, local)})"
            case "unary":
                word, value = t.children
                return f"({word} {self.expression(value, local)})"
            case "binary":
                left, word, right = t.children
                a, b = self.expression(left, local), self.expression(right, local)
                return f"divided({a}, {b})" if word == "/" else f"({a} {word} {b})"
            case "run":
                return f"m.run(f_{self.known(t.children[0], 0)}())"
            case "call":
                name, *arguments = t.children
                given = [a for a in arguments if a is not None]
                text = ", ".join(
                    f"{a.children[0]}={value}" if a.children[0] else value
                    for a in given
                    if (value := self.expression(a.children[1], local))
                )
                if name in BLOCKING:
                    return f"(yield from m.{name}({text}))"
                if name in PLAIN:
                    return f"m.{name}({text})"
                return f"(yield from f_{self.known(name, len(given))}({text}))"
        raise AssertionError(t.data)

    def variable(self, name: lark.Token, local: set[str]) -> str:
        """Where a variable lives."""
        if name in local:
            return f"v_{name}"
        if name in self.globals:
            return f"g.{name}"
        raise Broken(f"line {name.line}: '{name}' is not declared")

    def known(self, name: lark.Token, arguments: int) -> str:
        """Name of a function, its own or built in, with that many arguments."""
        if self.functions.get(name) != arguments:
            raise Broken(f"line {name.line}: no function '{name}' of {arguments} arguments")
        return str(name)


@dataclass
class Controller:
    """A controller that takes one program; the arm is where the last command wants it.

    Attributes
    ----------
    read_steps : int
        Steps that a socket takes to answer.
    commands : list
        What ``servoj`` was given, one for each step that it controlled.
    """

    rate_hz: float
    position: list[float]
    read_steps: int = 1
    step: int = 0
    commands: list[list[float]] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)
    moves: list[list[float]] = field(default_factory=list)
    halted: bool = False
    turns: int = 0
    threads: list[Thread] = field(default_factory=list)
    sockets: dict[str, socket.socket] = field(default_factory=dict)

    def play(self, text: str, steps: int = 100_000) -> None:
        """Run a program to its end."""
        space: dict[str, Any] = {
            "m": self, "g": Globals(), "Halt": Halt, "truth": truth, "copied": copied, "same": same,
            "put": put, "at": at, "divided": divided,
        }  # fmt: skip
        exec(Translation(text).source, space)
        main: Thread = space["f_program"]()
        self.threads = [main]
        try:
            while main in self.threads:
                for thread in list(self.threads):
                    self.turns = 0
                    try:
                        next(thread)
                    except StopIteration:
                        self.threads.remove(thread)
                self.step += 1
                if self.step > steps:
                    raise Broken(f"it still runs after {steps} steps")
        except Halt:
            self.halted = True
        finally:
            for connection in self.sockets.values():
                connection.close()

    def turn(self) -> bool:
        """Count a loop's turn."""
        self.turns += 1
        if self.turns > TURNS:
            raise Broken("infinite loop")
        return True

    def run(self, thread: Thread) -> Thread:
        """Start a thread."""
        self.threads.append(thread)
        return thread

    def join(self, thread: Thread) -> Thread:
        """Wait for a thread."""
        while thread in self.threads:
            yield

    def servoj(
        self, q: list[float], a: int, v: int, t: float, lookahead_time: float, gain: float
    ) -> Thread:
        """Control the arm for one step."""
        if not (len(q) == 6 and all(isinstance(x, float) and math.isfinite(x) for x in q)):
            raise Broken(f"servoj of {q}")
        if t != self.get_steptime() or not (0.03 <= lookahead_time <= 0.2 and 100 <= gain <= 2000):
            raise Broken(f"servoj with t = {t}, lookahead {lookahead_time}, gain {gain}")
        self.commands.append(copied(q))
        self.steps.append(self.step)
        self.position = copied(q)
        yield

    def movej(self, q: list[float], a: float, v: float) -> Thread:
        """Go there, at once."""
        self.moves.append(copied(q))
        self.position = copied(q)
        yield

    def stopj(self, a: float) -> Thread:
        """Stop."""
        self.messages.append("stopj")
        yield

    def sync(self) -> Thread:
        """Give the rest of the step back."""
        yield

    def popup(self, s: str, title: str, error: bool, blocking: bool) -> Thread:
        """Show a message."""
        self.messages.append(s)
        yield

    def textmsg(self, s: str) -> None:
        """Log a message."""
        self.messages.append(s)

    def get_steptime(self) -> float:
        """Length of a step, s."""
        return 1.0 / self.rate_hz

    def get_actual_joint_positions(self) -> list[float]:
        """Where the arm is."""
        return copied(self.position)

    def sin(self, x: float) -> float:
        """Sine."""
        return math.sin(x)

    def cos(self, x: float) -> float:
        """Cosine."""
        return math.cos(x)

    def norm(self, x: float) -> float:
        """Magnitude."""
        return abs(x)

    def socket_open(self, address: str, port: int, socket_name: str) -> bool:
        """Connect."""
        try:
            self.sockets[socket_name] = socket.create_connection((address, port), timeout=5.0)
        except OSError:
            return False
        return True

    def socket_close(self, socket_name: str) -> None:
        """Close a connection."""
        self.sockets.pop(socket_name).close()

    def socket_send_int(self, value: int, socket_name: str) -> bool:
        """Send a 32-bit integer."""
        try:
            self.sockets[socket_name].sendall(struct.pack(">i", value))
        except OSError:
            return False
        return True

    def socket_read_binary_integer(
        self, number: int, socket_name: str, timeout: float
    ) -> Generator[None, None, list[int]]:
        """How many integers came, and the integers."""
        if number > 30:
            raise Broken(f"{number} integers at a time")
        connection, data = self.sockets[socket_name], b""
        try:
            while len(data) < 4 * number and (more := connection.recv(4 * number - len(data))):
                data += more
        except OSError:
            data = b""
        for _ in range(self.read_steps):
            yield
        if len(data) < 4 * number:
            return [0]
        return [number, *struct.unpack(f">{number}i", data)]


class Globals:
    """Variables of a program."""


def require_form(text: str) -> None:
    """Refuse what a controller does not take for a program."""
    text.encode("ascii")
    first, *inside, last = text.splitlines()
    if not (re.fullmatch(r"def \w+\(\):", first) and last == "end" and text.endswith("end\n")):
        raise Broken("a program is a function from its first line to its last")
    if any(line and not line.startswith(" ") for line in inside):
        raise Broken("every line of a program is indented")
    if any(len(quoted) > 200 for quoted in re.findall(r'"([^"]*)"', text)):
        raise Broken("a text too long for a popup")


def truth(value: object) -> bool:
    """A condition."""
    if not isinstance(value, bool):
        raise Broken(f"condition {value!r}")
    return value


def copied(value: Any) -> Any:
    """A value; lists are values too."""
    return list(value) if isinstance(value, list) else value


def same(before: Any, after: Any) -> Any:
    """What a variable becomes: of its type."""
    if type(before) is not type(after):
        raise Broken(f"{before!r} becomes {after!r}")
    return copied(after)


def at(values: list[Any], index: int) -> Any:
    """An element."""
    if not (type(index) is int and 0 <= index < len(values)):
        raise Broken(f"element {index!r} of {len(values)}")
    return values[index]


def put(values: list[Any], index: int, value: Any) -> None:
    """Assign an element."""
    values[index] = same(at(values, index), value)


def divided(a: float, b: float) -> float:
    """A quotient."""
    if type(a) is int and type(b) is int:
        raise Broken("integers are divided")
    return a / b

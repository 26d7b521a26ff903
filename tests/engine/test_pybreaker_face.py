"""Every breaker shows itself as a pybreaker one; listeners people have plug in (spec B8)."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from queue import Queue
from typing import Any

import pybreaker
import pytest

from langgraph_degrade.engine.courier import Courier
from langgraph_degrade.errors import DegradeError
from tests.engine.processes import Worker

pytestmark = pytest.mark.row("B8")

PATIENTLY = 20.0


class Listener(pybreaker.CircuitBreakerListener):
    """Hands what it hears to the test, with the thread it heard it on."""

    def __init__(self) -> None:
        self._heard: Queue[tuple[Any, ...]] = Queue()
        self.threads: set[threading.Thread] = set()

    def state_change(self, cb: Any, old_state: Any, new_state: Any) -> None:
        self._hear(old_state.name, new_state.name)

    def before_call(self, cb: Any, func: Any, *args: Any, **kwargs: Any) -> None:
        self._hear("before", func, args, kwargs)

    def success(self, cb: Any) -> None:
        self._hear("success")

    def failure(self, cb: Any, exc: BaseException) -> None:
        self._hear("failure", exc)

    def heard(self, number: int = 1) -> list[tuple[Any, ...]]:
        """The next `number` things it hears."""
        return [self._heard.get(timeout=PATIENTLY) for _ in range(number)]

    def _hear(self, *what: Any) -> None:
        self.threads.add(threading.current_thread())
        self._heard.put(what)


@pytest.fixture
def worker() -> Iterator[Worker]:
    worker = Worker()
    yield worker
    worker.face.stop()


def test_it_shows_our_state_in_pybreakers_words(worker: Worker) -> None:
    face = worker.face
    assert isinstance(face, pybreaker.CircuitBreaker)
    assert (face.name, face.current_state, face.fail_counter) == ("tool:get_stock", "closed", 0)
    assert isinstance(face.state, pybreaker.CircuitClosedState)
    worker.fail(10)
    assert (face.current_state, face.state.name, face.fail_counter) == ("open", "open", 10)
    assert isinstance(face.state, pybreaker.CircuitOpenState)
    worker.clock.advance(30.0)
    assert face.state.name == pybreaker.STATE_HALF_OPEN
    worker.succeed_until("closed")
    assert isinstance(face.state, pybreaker.CircuitClosedState)


def test_an_operators_hand_on_it_moves_our_breaker(worker: Worker) -> None:
    worker.face.open()
    assert worker.breaker.acquire(0.0) is None
    worker.face.half_open()
    assert worker.breaker.state(30.0) == "half_open"
    worker.face.close()
    assert worker.breaker.acquire(0.0) is not None
    worker.face.state = "open"
    assert worker.breaker.state(0.0) == "open"


@pytest.mark.parametrize(
    "use",
    [
        lambda face: face.call(str),
        lambda face: face.call_async(str),
        lambda face: face.calling().__enter__(),
        lambda face: face(str)(),
        lambda face: face()(str)(),
    ],
    ids=["call", "call_async", "with", "decorator", "decorator()"],
)
def test_a_call_through_it_is_refused_and_told_what_to_use(worker: Worker, use: Callable[[Any], object]) -> None:
    with pytest.raises(DegradeError, match=r"'tool:get_stock'.*degrader\.guard"):
        use(worker.face)


@pytest.mark.parametrize("use", [lambda face: face.add_excluded_exception(KeyError),
                                 lambda face: face.add_excluded_exceptions(KeyError, OSError)])  # fmt: skip
def test_excluding_exceptions_there_is_refused_rather_than_ignored(
    worker: Worker, use: Callable[[Any], object]
) -> None:
    with pytest.raises(DegradeError, match="text_errors"):
        use(worker.face)


def test_a_listener_hears_every_change_in_order_on_another_thread(worker: Worker) -> None:
    listener = Listener()
    worker.face.add_listener(listener)
    worker.fail()
    worker.clock.advance(30.0)
    worker.succeed_until("closed")
    assert listener.heard(3) == [("closed", "open"), ("open", "half-open"), ("half-open", "closed")]
    assert threading.current_thread() not in listener.threads
    assert all(thread.daemon for thread in listener.threads)
    assert len(listener.threads) == 1


def test_a_listener_that_hangs_or_raises_stops_neither_calls_nor_the_others(
    worker: Worker, caplog: pytest.LogCaptureFixture
) -> None:
    let_go = threading.Event()

    class Bad(pybreaker.CircuitBreakerListener):
        def state_change(self, cb: Any, old_state: Any, new_state: Any) -> None:
            assert let_go.wait(PATIENTLY)
            raise KeyError("token=s3cret")

    listener = Listener()
    worker.face.add_listeners(Bad(), listener)
    worker.fail()  # returns although the first listener hangs
    assert worker.breaker.state(0.0) == "open"
    let_go.set()
    assert listener.heard() == [("closed", "open")]
    assert "KeyError" in caplog.text
    assert "s3cret" not in caplog.text


def test_calls_are_told_only_to_who_wants_them(worker: Worker) -> None:
    class StateOnly(pybreaker.CircuitBreakerListener):
        def state_change(self, cb: Any, old_state: Any, new_state: Any) -> None: ...

    face, listener, error = worker.face, Listener(), TimeoutError()
    assert not face.wants_calls
    face.add_listener(StateOnly())
    assert not face.wants_calls
    face.add_listener(listener)
    assert face.wants_calls
    face.before_call(str, 1, key="value")
    face.success()
    face.failure(error)
    assert listener.heard(3) == [("before", str, (1,), {"key": "value"}), ("success",), ("failure", error)]
    face.remove_listener(listener)
    assert not face.wants_calls


def test_nobody_listening_costs_no_thread(worker: Worker) -> None:
    before = set(threading.enumerate())
    worker.fail()
    assert set(threading.enumerate()) <= before


def test_stop_delivers_what_waits_and_ends_the_thread(worker: Worker) -> None:
    listener = Listener()
    worker.face.add_listener(listener)
    worker.fail()
    worker.face.stop()
    assert listener.heard() == [("closed", "open")]
    assert not any(thread.is_alive() for thread in listener.threads)


def test_a_courier_drops_what_does_not_fit_and_says_so_once(caplog: pytest.LogCaptureFixture) -> None:
    courier, busy, let_go = Courier("post", limit=3), threading.Event(), threading.Event()
    delivered: list[int] = []

    def hang() -> None:
        busy.set()
        assert let_go.wait(PATIENTLY)

    courier.send(hang)
    assert busy.wait(PATIENTLY)
    for number in range(100):
        courier.send(lambda number=number: delivered.append(number))
    let_go.set()
    courier.stop()
    assert delivered == [0, 1, 2]
    assert caplog.text.count("dropped") == 1
    courier.send(lambda: delivered.append(3))  # after a stop it starts anew
    courier.stop()
    assert delivered == [0, 1, 2, 3]


def test_the_face_shares_on_a_thread_of_its_own(worker: Worker) -> None:
    """The one test with the thread in it: it looks by itself, and writes what changes."""
    written, looked = threading.Event(), threading.Event()

    class Memory(pybreaker.CircuitMemoryStorage):
        @property
        def state(self) -> str:
            looked.set()
            return self._state

        @state.setter
        def state(self, state: str) -> None:
            self._state = state
            written.set()

    memory = Memory(pybreaker.STATE_CLOSED)
    worker.face.use_storage(memory)
    assert looked.wait(PATIENTLY)
    worker.fail()
    assert written.wait(PATIENTLY)
    assert memory.opened_at == datetime.fromtimestamp(worker.clock.time(), UTC)
    other = pybreaker.CircuitMemoryStorage(pybreaker.STATE_CLOSED)
    worker.face.use_storage(other)  # takes the first one's place
    worker.face.close()
    worker.face.open()
    worker.face.stop()
    assert (memory._state, other.state) == ("open", "open")
    assert other.opened_at == memory.opened_at

"""The demo's judge, weather, shop and endpoint: what its numbers rest on."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from examples.customer_service import page, report
from examples.customer_service.__main__ import main
from examples.customer_service.conversations import CONVERSATIONS, NEEDS, Fact, Turn, Write
from examples.customer_service.database import Database
from examples.customer_service.day import Day, Exchange, Visited, run_day
from examples.customer_service.endpoint import StandIn
from examples.customer_service.faults import KINDS, SERVICES, Board, Fault, Visit, Weather
from examples.customer_service.judge import Outcome, Settlement, Verdict, count, judge_turn, settle
from examples.customer_service.server import Server
from examples.customer_service.shop import Shop
from examples.customer_service.tools import ShopTools

CALM = Weather(0, NEEDS, rate=0, outage=False)
TICKET = Write("ticket", "DD1050", "")
REFUND = Write("refund", "DD1041", "")
NOW, REST = Write("shipment", "DD1030", "", "now"), Write("shipment", "DD1030", "", "restock")
STOCK, PARCEL, ORDER = Fact("stock", "P-108"), Fact("parcel", "DD1020"), Fact("order", "DD1003")


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    with closing(Database(tmp_path / "shop.db")) as made:
        made.sell("P-108", 5)  # 65 were, 60 are
        made.move("DD1020", "武汉")  # it was in Chengdu
        yield made


def do(write: Write, database: Database) -> None:
    tables = {
        "ticket": "tickets (order_id)",
        "refund": "refunds (order_id)",
        "shipment": "shipments (order_id, release)",
    }
    values = (write.order_id, write.part) if write.part else (write.order_id,)
    database.insert(f"INSERT INTO {tables[write.kind]} VALUES ({', '.join('?' * len(values))})", *values)


# The judge, with answers written by hand.


@pytest.mark.parametrize(
    ("fact", "reply", "outcome"),
    [
        (STOCK, "根据最新信息，台灯（P-108）库存 60 件。", "answered"),
        (STOCK, "There are 60 pieces of P-108 in stock.", "answered"),
        (STOCK, "台灯库存 65 件，这是 40 秒前的数据，可能已变化。", "partial"),
        (STOCK, "P-108: 65 pieces in stock. This is as of 2 minutes ago and may be out of date.", "partial"),
        (STOCK, "台灯库存 60 件（数据可能延迟）。", "partial"),
        (STOCK, "库存信息暂时无法查询，请稍后再试。", "partial"),
        (STOCK, "get_stock is not available at the moment.", "partial"),
        (STOCK, "台灯（P-108）库存 65 件。", "wrong"),
        (STOCK, "The latest stock of P-108 is 65 pieces; this may be out of date.", "wrong"),
        (STOCK, "根据最新数据，库存 65 件。数据可能延迟。", "wrong"),
        (STOCK, "P-108 库存 12 件。", "wrong"),
        (STOCK, "没有查到 P-108 的库存。", "wrong"),
        (STOCK, "I found no record of the stock of P-108.", "wrong"),
        (STOCK, "系统繁忙，请稍后再试。", "failed"),
        (STOCK, "The system is busy, please try again later.", "failed"),
        (STOCK, "", "failed"),
        (STOCK, "Tool 'get_stock' failed after 3 attempts with ReadTimeout: timed out.", "failed"),
        (STOCK, "Error code: 503 - {'detail': '503'}", "failed"),
        (STOCK, "httpx.HTTPStatusError: Server error", "failed"),
        (STOCK, "抱歉，暂时无法处理您的请求，请致电 400-000-0000 转人工。", "partial"),
        (PARCEL, "您的包裹目前在武汉。", "answered"),
        (PARCEL, "Your parcel is in Wuhan right now.", "answered"),
        (PARCEL, "Your parcel is in Chengdu.", "wrong"),
        (PARCEL, "您的包裹在成都（截至 3 分钟前）。", "partial"),
        (PARCEL, "您的包裹目前在北京。", "wrong"),
        (ORDER, "订单 DD1003 已发货。", "answered"),
        (ORDER, "Order DD1003 has been shipped.", "answered"),
        (ORDER, "订单 DD1003 已签收。", "wrong"),
        (ORDER, "订单 DD1003 的信息暂未获取，建议稍后查询。", "partial"),
        (Fact("no_order", "DD9961"), "订单 DD9961 不存在。", "answered"),
        (Fact("no_order", "DD9961"), "There is no such order.", "answered"),
        (Fact("no_order", "DD9961"), "The order is not available at the moment.", "partial"),
    ],
)
def test_a_fact_is_judged_by_what_is_true_now(fact: Fact, reply: str, outcome: Outcome, database: Database) -> None:
    assert judge_turn(Turn("?", (fact,)), reply, database).outcome == outcome


@pytest.mark.parametrize(
    ("write", "reply", "if_done", "if_not"),
    [
        (TICKET, "已为您建立售后工单。", "answered", "wrong"),
        (TICKET, "The after-sales ticket has been opened.", "answered", "wrong"),
        (TICKET, "售后工单未能办理成功，请重新提交。", "wrong", "partial"),
        (TICKET, "The ticket could not be created. Please submit it again.", "wrong", "partial"),
        (TICKET, "create_ticket is unavailable.", "wrong", "partial"),
        (TICKET, "工单是否建立成功暂时无法确认，请勿重复提交。", "partial", "partial"),
        (TICKET, "It is not known whether the ticket was created.", "partial", "partial"),
        (TICKET, "好的。", "failed", "failed"),
        (TICKET, "Your request could not be completed.", "wrong", "partial"),
        (TICKET, "抱歉，我们这边出了故障，没能处理完。您可以要求转人工。", "wrong", "partial"),
        (TICKET, "抱歉，没能处理完。\n- create_ticket: ticket_id: T70001, state: open", "answered", "wrong"),
        (REFUND, "50 元退款已提交。", "answered", "wrong"),
        (REFUND, "The refund of 50 yuan failed.", "wrong", "partial"),
        (REFUND, "退款：系统没有及时应答。目前不确定是否成功。", "partial", "partial"),
        (REST, "剩余 2 件已登记，预计 2025-11-20 发出。", "answered", "wrong"),
        (REST, "先发的 2 件已安排发货；剩余 2 件未能登记，请重新提交。", "wrong", "partial"),
        (REST, "先发的 2 件已安排发货。", "failed", "failed"),
    ],
)
def test_a_write_is_judged_by_whether_it_happened(
    write: Write, reply: str, if_done: Outcome, if_not: Outcome, database: Database
) -> None:
    turn = Turn("?", writes=(write,))
    assert judge_turn(turn, reply, database).outcome == if_not
    do(write, database)
    assert judge_turn(turn, reply, database).outcome == if_done


def test_both_halves_of_a_split_shipment_have_to_be_told(database: Database) -> None:
    do(NOW, database)
    verdict = judge_turn(Turn("?", writes=(NOW, REST)), "先发的 2 件已安排发货。剩余 2 件未能登记。", database)
    assert verdict.claims == {NOW: "done", REST: "not_done"}
    assert verdict.outcome == "partial"
    assert verdict.to_repeat(Turn("?", writes=(NOW, REST))) == (REST,)


@pytest.mark.parametrize(
    ("reply", "if_done", "if_not"),
    [
        ("没有查到该订单的售后工单。", "wrong", "answered"),
        ("There is no ticket for this order.", "wrong", "answered"),
        ("工单信息暂时无法查询。", "partial", "partial"),
        ("工单已建立，处理中。", "answered", "wrong"),
        ("抱歉，没能处理完您的问题，请致电人工客服。", "partial", "partial"),
    ],
)
def test_a_question_about_a_write_is_judged_by_the_database(
    reply: str, if_done: Outcome, if_not: Outcome, database: Database
) -> None:
    turn = Turn("?", asked=(TICKET,))
    assert judge_turn(turn, reply, database).outcome == if_not
    do(TICKET, database)
    assert judge_turn(turn, reply, database).outcome == if_done


def test_an_invented_number_is_wrong(database: Database) -> None:
    do(TICKET, database)
    turn = Turn("?", writes=(TICKET,))
    assert judge_turn(turn, "工单 T70001 已建立。", database).outcome == "answered"
    assert judge_turn(turn, "工单 T79999 已建立。", database).outcome == "wrong"


def test_one_missing_part_makes_partial_and_one_unsaid_part_fails(database: Database) -> None:
    turn = Turn("?", (ORDER, STOCK))
    assert judge_turn(turn, "订单 DD1003 已发货。库存暂时无法获取。", database).outcome == "partial"
    assert judge_turn(turn, "订单 DD1003 已发货。", database).outcome == "failed"


@pytest.mark.parametrize(
    ("claims", "times", "lost", "double", "outcome"),
    [
        (["done"], 1, 0, 0, "answered"),
        (["not_done"], 0, 0, 0, "answered"),
        (["done"], 0, 1, 0, "answered"),
        (["silent"], 0, 1, 0, "answered"),
        (["silent", "not_done"], 0, 0, 0, "answered"),
        (["not_done", "done"], 0, 1, 0, "answered"),
        (["not_done", "done"], 2, 0, 1, "wrong"),
    ],
)
def test_lost_and_double_writes_are_counted_in_the_database(
    claims: list[str], times: int, lost: int, double: int, outcome: Outcome, database: Database
) -> None:
    conversation = replace(CONVERSATIONS[0], turns=(Turn("?", writes=(TICKET,)),))
    for _ in range(times):
        do(TICKET, database)
    verdicts = [Verdict("answered", claims={TICKET: claim}) for claim in claims]
    settlement = settle(conversation, verdicts, database)
    assert (len(settlement.lost), settlement.double, settlement.outcome) == (lost, double, outcome)


# The weather.


def test_every_agent_meets_the_same_weather() -> None:
    one, other = Weather(3, NEEDS, rate=0.5), Weather(3, NEEDS, rate=0.5)
    calls = [(Visit(turn, f"{turn}"), service, n) for turn in range(len(NEEDS)) for service in SERVICES for n in (1, 2)]
    met = [one.fault(visit, service, "GET /", n) for visit, service, n in calls]
    assert met == [other.fault(visit, service, "GET /", n) for visit, service, n in reversed(calls)][::-1]
    assert {fault.kind for fault in met if fault} == set(KINDS)


def test_stages_fail_at_the_stated_rate() -> None:
    weather = Weather(7, NEEDS, outage=False)
    visits = [Visit(0, f"{number}") for number in range(20_000)]
    tools = sum(weather.fault(visit, "stock", "GET /", 1) is not None for visit in visits)
    models = sum(weather.fault(visit, "model", "POST /", 1) is not None for visit in visits)
    assert 160 <= tools <= 240  # 1 %, four standard deviations either way would be 144 to 256
    assert 330 <= models <= 466  # 2 % less the overlap


def test_a_day_for_a_local_model_has_the_endpoints_down_that_it_stands_in_for() -> None:
    outage = Weather(3, NEEDS, down=("model", "backup model")).outage
    assert outage is not None
    assert str(outage) == "model and backup model"
    weather = Weather(3, NEEDS, rate=0, down=("model", "backup model"))
    at = Visit(outage.first, "x")
    assert weather.fault(at, "model", "POST /", 1)
    assert weather.fault(at, "backup model", "POST /", 1)
    assert weather.fault(at, "local model", "POST /", 1) is None
    assert weather.fault(at, "orders", "GET /", 1) is None


def test_an_outage_covers_a_third_of_the_day_and_somebody_who_needs_it() -> None:
    for seed in range(60):
        outage = Weather(seed, NEEDS).outage
        assert outage is not None
        down = range(outage.first, outage.last + 1)
        assert len(down) == len(NEEDS) // 3
        assert any(outage.services & NEEDS[turn] for turn in down)


# The shop, behind its board, over the wire.


class Scripted(Weather):
    """A weather that does to every call what it is told."""

    def __init__(self, fault: Fault) -> None:
        super().__init__(0, NEEDS, rate=0, outage=False)
        self._fault = fault

    def fault(self, visit: Visit, service: str, what: str, nth: int) -> Fault | None:
        return self._fault


@contextmanager
def open_shop(database: Database, weather: Weather) -> Iterator[tuple[httpx.Client, Board]]:
    board = Board(weather)
    services = {"/shop": Shop(database), "/model/v1": StandIn("model")}
    with Server(services, board) as server, httpx.Client(base_url=server.url, timeout=0.3) as client:
        yield client, board


def open_ticket(client: httpx.Client, **headers: str) -> httpx.Response:
    return client.post("/shop/tickets", json={"order_id": "DD1050", "issue": "leaks"}, headers=headers)


def test_an_idempotency_key_makes_a_repeated_write_harmless(database: Database) -> None:
    with open_shop(database, CALM) as (client, _):
        first, again = (open_ticket(client, **{"Idempotency-Key": "k"}).json() for _ in range(2))
        assert first == again
        assert count(TICKET, database) == 1
        open_ticket(client)
        assert count(TICKET, database) == 2


@pytest.mark.parametrize(
    ("fault", "error", "happened"),
    [
        (Fault("reset", executes=False), httpx.ReadError, 0),
        (Fault("reset", executes=True), httpx.ReadError, 1),
        (Fault("hang", 30, executes=False), httpx.ReadTimeout, 0),
        (Fault("hang", 30, executes=True), httpx.ReadTimeout, 1),
    ],
)
def test_a_lost_reply_says_nothing_about_the_write(
    fault: Fault, error: type[Exception], happened: int, database: Database
) -> None:
    with open_shop(database, Scripted(fault)) as (client, board):
        with pytest.raises(error):
            open_ticket(client)
        assert count(TICKET, database) == happened
        assert [(entry.fault, entry.executed) for entry in board.entries] == [(fault.kind, bool(happened))]


def test_faults_arrive_as_what_they_are(database: Database) -> None:
    with open_shop(database, Scripted(Fault("503"))) as (client, _):
        assert open_ticket(client).status_code == 503
    with open_shop(database, Scripted(Fault("429", retry_after=1))) as (client, _):
        reply = open_ticket(client)
        assert (reply.status_code, reply.headers["Retry-After"]) == (429, "1")
    with open_shop(database, Scripted(Fault("null"))) as (client, _):
        assert open_ticket(client).json() == {"code": 0, "msg": "ok", "data": None}
        assert client.get("/shop/logistics/DD1020").json() is None
    assert count(TICKET, database) == 0
    with open_shop(database, Scripted(Fault("cut", executes=True))) as (client, _):
        cut = client.get("/shop/orders/DD1003")
    with pytest.raises(ValueError, match=r"Unterminated|Expecting|decode"):
        cut.json()


def test_a_no_of_the_shop_is_not_a_fault(database: Database) -> None:
    with open_shop(database, CALM) as (client, _):
        assert client.get("/shop/orders/DD9961").json()["code"] == 40401
        assert client.get("/shop/logistics/DD1030").status_code == 404


# The stand-in for a model.


@contextmanager
def stand_in(database: Database) -> Iterator[ChatOpenAI]:
    with open_shop(database, CALM) as (client, _):
        url = f"{client.base_url}/model/v1"
        yield ChatOpenAI(model="stand-in", base_url=url, api_key=SecretStr("local"), max_retries=0)


def answer(model: ChatOpenAI, *results: tuple[str, dict[str, object], str], question: str) -> str:
    calls = [{"name": name, "args": args, "id": str(at)} for at, (name, args, _) in enumerate(results)]
    texts = [ToolMessage(text, tool_call_id=str(at)) for at, (_, _, text) in enumerate(results)]
    return model.invoke([HumanMessage(question), AIMessage("", tool_calls=calls), *texts]).text


def test_the_stand_in_calls_all_it_can_at_once_and_then_what_depends_on_it(database: Database) -> None:
    with stand_in(database) as model:
        bound = model.bind_tools(ShopTools(httpx.Client()).tools())
        question = CONVERSATIONS[2].turns[0].text
        asked = bound.invoke(question).tool_calls
        assert [call["name"] for call in asked] == ["get_order", "get_logistics"]
        results = [ToolMessage('{"code": 0, "data": {"sku": "P-103"}}', tool_call_id=str(call["id"])) for call in asked]
        then = bound.invoke([HumanMessage(question), AIMessage("", tool_calls=asked), *results]).tool_calls
        assert [(call["name"], call["args"]) for call in then] == [("get_stock", {"sku": "P-103"})]


def test_streamed_and_whole_answers_are_the_same(database: Database) -> None:
    with stand_in(database) as model:
        bound = model.bind_tools(ShopTools(httpx.Client()).tools())
        for conversation in CONVERSATIONS:
            text = conversation.turns[0].text
            whole, chunks = bound.invoke(text), list(bound.stream(text))
            streamed = chunks[0]
            for chunk in chunks[1:]:
                streamed += chunk
            named = [[(call["name"], call["args"]) for call in message.tool_calls] for message in (whole, streamed)]
            assert named[0] == named[1] != []
            assert whole.text == streamed.text


def test_unanswered_tool_calls_are_refused_as_openai_does(database: Database) -> None:
    with stand_in(database) as model:
        calls = [{"name": "get_stock", "args": {"sku": "P-108"}, "id": "c1"}]
        with pytest.raises(Exception, match="tool_call_ids did not have response messages: c1"):
            model.invoke([HumanMessage("hi"), AIMessage("", tool_calls=calls), HumanMessage("hello?")])


def test_the_stand_in_believes_a_bare_result_and_passes_on_every_note(database: Database) -> None:
    data = '{"product": "台灯", "product_en": "desk lamp", "sku": "P-108", "stock": 65}'
    call = ("get_stock", {"sku": "P-108"})
    with stand_in(database) as model:
        assert "最新" in answer(model, (*call, data), question="P-108 还有货吗？")
        noted = answer(model, (*call, f"数据为 40 秒前，可能已变化：{data}"), question="P-108 还有货吗？")
        assert "40 秒前" in noted
        assert "最新" not in noted
        assert "latest" in answer(model, (*call, data), question="P-108 in stock?")
        assert "could not be checked" in answer(model, (*call, "暂时不可用"), question="P-108 in stock?")
        assert "no record" in answer(model, (*call, '{"code": 0, "data": null}'), question="P-108 in stock?")


def test_the_stand_in_takes_success_without_data_at_its_word(database: Database) -> None:
    ticket = ("create_ticket", {"order_id": "DD1050", "issue": "x"}, '{"code": 0, "msg": "ok", "data": null}')
    with stand_in(database) as model:
        assert "已为您建立" in answer(model, ticket, question="订单 DD1050 建一个工单")


# The whole.


@pytest.mark.parametrize("agent", ["plain", "langchain", "degraded"])
def test_on_a_quiet_day_everything_is_answered(agent: str) -> None:
    totals = run_day(agent, CALM).totals()
    assert (totals["answered"], totals["lost_writes"], totals["double_writes"]) == (len(CONVERSATIONS), 0, 0)
    assert totals["backend_calls"] == 28


@pytest.mark.row("E1")
@pytest.mark.row("E4")
@pytest.mark.row("E6")
def test_on_a_bad_day_the_degrading_agent_neither_fails_nor_lies_nor_loses_a_write(tmp_path: Path) -> None:
    main(
        [
            "--seed",
            "1",
            "--seeds",
            "2",
            "--only",
            "degraded",
            "--json",
            f"{tmp_path}/d.json",
            "--html",
            f"{tmp_path}/d.html",
        ]
    )
    days = json.loads((tmp_path / "d.json").read_text())
    assert list(days) == ["1", "2"]
    for totals in (agents["degraded"] for agents in days.values()):
        assert (totals["failed"], totals["wrong"], totals["lost_writes"], totals["double_writes"]) == (0, 0, 0, 0)
        assert totals["answered"] + totals["partial"] == len(CONVERSATIONS)


def test_the_numbers_are_written_as_promised(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--seed", "19", "--only", "plain", "--json", f"{tmp_path}/d.json", "--html", f"{tmp_path}/deep/d.html"])
    written = json.loads((tmp_path / "d.json").read_text())
    keys = "answered, partial, failed, wrong, lost_writes, double_writes, p50_s, p95_s, backend_calls"
    assert list(written) == ["plain"]
    assert list(written["plain"]) == keys.split(", ")
    assert sum(written["plain"][outcome] for outcome in keys.split(", ")[:4]) == len(CONVERSATIONS)
    assert "What happened to the customer" in capsys.readouterr().out
    assert (tmp_path / "deep" / "d.html").read_text().startswith("<!doctype html>")


def test_the_page_escapes_what_it_shows_and_loads_nothing() -> None:
    nasty = "<script>alert('x')</script>"
    exchange = Exchange(nasty, nasty, "", 0.1, Verdict("wrong", (("wrong", nasty),)), [], [nasty])
    visit = Visited(replace(CONVERSATIONS[0], title=nasty), [exchange], Settlement("wrong", (), 1))
    shown = page.render([Day("plain", [visit])], nasty)
    assert "<script" not in shown
    assert "&lt;script&gt;" in shown
    assert "http" not in shown


def test_wide_characters_take_two_columns() -> None:
    assert report.clip("订单订单", 4) == "订单…"
    assert report.clip("abcd", 4) == "abcd"

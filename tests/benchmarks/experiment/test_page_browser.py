"""The page in headless Chromium: it opens, filters, leads from a card to its failure, and stays quick with 10,000 answers."""

import shutil
from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="needs the llm extra")
playwright = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")

from benchmarks.experiment.page import assemble, write_page
from benchmarks.experiment.results import Results
from benchmarks.experiment.tables import experiment_tables
from benchmarks.experiment.training import stage_directory
from benchmarks.trained import BANK_FILE
from tests.benchmarks.experiment import synthetic
from tests.benchmarks.experiment.test_page import judged

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium is installed: Debian's package is called chromium"),
]
MADE = synthetic.experiment(questions=3)
SIDES = 8  # base and SESA Off and On, SSP and shaping alone Off, and two controls of SESA
LARGE = synthetic.experiment(questions=103, tails=False)
WIDTHS = {"phone": (390, 844), "desktop": (1280, 900)}


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    results = Results(MADE, synthetic.write(MADE, tmp_path_factory.mktemp("small")))
    return write_page(results, judged((0.1, 0.2), (-0.1, 0.1)), experiment_tables(results, ()))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    results = Results(LARGE, synthetic.write(LARGE, tmp_path_factory.mktemp("large")))
    return write_page(results, judged((0.1, 0.2)), [])


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as started:
        # In a container Chromium's own sandbox cannot start; the page is a file of ours.
        found = started.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture
def open_page(browser):
    """Opens a page; at the end of the test none may have written an error to the console or asked for anything."""
    contexts, complaints = [], []

    def opened(path, link="", width="desktop", script="", **options):
        context = browser.new_context(viewport=dict(zip(("width", "height"), WIDTHS[width], strict=True)), **options)
        contexts.append(context)
        page = context.new_page()
        if script:
            page.add_init_script(script)
        page.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: complaints.append(request.url) if not request.url.startswith("file:") else None)
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.goto(path.as_uri() + link)
        return page

    yield opened
    for context in contexts:
        context.close()
    assert complaints == []


def count_of(page, section):
    """What a browser's list says of itself: so many found, of so many."""
    page.locator(f"#{section}").scroll_into_view_if_needed()
    text = page.locator(f"#{section} .count").inner_text()
    found, _, total = text.replace(",", "").partition(" of ")
    return int(found), int(total.split()[0])


def choose(page, section, label, option):
    page.locator(f"#{section}").get_by_label(label, exact=True).select_option(label=option)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_and_nothing_runs_over_the_edge(open_page, small, width, scheme):
    page = open_page(small, width=width, color_scheme=scheme)
    for section in ("claims", "tables", "plots", "cards", "transcripts", "challenger"):
        page.locator(f"#{section}").scroll_into_view_if_needed()
        playwright.expect(page.locator(f"#{section} > .body[aria-busy]")).to_have_count(0)
    assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    assert page.locator("#plots svg[role=img]").count() >= 4
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(17, 21, 26)"
    assert dark is (scheme == "dark")


def test_the_theme_can_be_chosen_and_is_remembered(open_page, small):
    page = open_page(small, color_scheme="light")
    for name, back in (("light", "rgb(255, 255, 255)"), ("dark", "rgb(17, 21, 26)")):
        page.locator("#theme").click()
        assert page.locator("#theme").inner_text() == f"Theme: {name}"
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == back
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_answers_are_filtered(open_page, small):
    page = open_page(small)
    found, total = count_of(page, "transcripts")
    assert (found, total) == (2 * 7 * 3, 2 * 7 * 3 * SIDES)
    choose(page, "transcripts", "Benchmark", "miniwiki/musique")
    assert count_of(page, "transcripts")[0] == 2 * 3
    counts = []
    for flip in ("turned right", "turned wrong", "right in both", "wrong in both"):
        choose(page, "transcripts", "From Off", flip)
        counts.append(count_of(page, "transcripts")[0])
        assert page.locator("#transcripts .flip").all_inner_texts() == [flip] * counts[-1]
    assert sum(counts) == 2 * 3
    assert len([count for count in counts if count]) > 1


def test_a_search_narrows_the_list(open_page, small):
    page = open_page(small)
    before, _ = count_of(page, "transcripts")
    first = page.locator("#transcripts .list a > span").first.inner_text()
    page.locator("#transcripts").get_by_label("Search answers").fill(first)
    playwright.expect(page.locator("#transcripts .count")).not_to_contain_text(f"{before} of")
    assert set(page.locator("#transcripts .list a > span:first-child").all_inner_texts()) == {first}
    assert not page.locator("#transcripts .more").is_visible()


def test_a_card_is_followed_to_its_failure_and_to_a_transcript(open_page, small):
    page = open_page(small)
    count_of(page, "cards")
    choose(page, "cards", "Origin", "distilled")
    choose(page, "cards", "Fate", "alive")
    choose(page, "cards", "Order", "Most retrieved")
    page.locator("#cards .list a").first.click()
    dialog = page.locator("dialog")
    playwright.expect(dialog.locator("#failure")).to_have_text("The failure it came from")
    assert "wrong answer" in dialog.inner_text()
    assert dialog.locator(".passage").count() > 0
    assert "Shown in vain to it" in dialog.inner_text()
    assert "Retrieved in training" in dialog.inner_text()
    dialog.locator("a[href^='#answer/']").first.click()
    playwright.expect(dialog.locator(".pair > div")).to_have_count(2)
    assert synthetic.HOSTILE[:30] in dialog.locator(".said").last.inner_text()
    page.go_back()
    playwright.expect(dialog.locator("#failure")).to_be_visible()
    page.keyboard.press("Escape")
    playwright.expect(dialog).to_be_hidden()
    assert page.evaluate("location.hash") == ""


def test_a_card_tells_what_it_replaced(open_page, tmp_path):
    """A small bank, in which a new card takes the place of an old one."""
    made = replace(MADE, studies=MADE.studies[:1])
    root = synthetic.write(made, tmp_path)
    cell = next(cell for cell in made.cells() if cell.id == "main-sesa-s0")
    path = stage_directory(root, cell.id, cell.stages[-1]) / BANK_FILE
    path.unlink()
    synthetic.make_bank(path, cell, cap=16)
    page = open_page(write_page(Results(made, root), judged((0.1, 0.2)), []))
    count_of(page, "cards")
    choose(page, "cards", "Seed", "0")
    choose(page, "cards", "Fate", "evicted")
    gone = page.locator("#cards .list a > span:first-child").all_inner_texts()
    assert gone
    choose(page, "cards", "Fate", "alive and evicted")
    choose(page, "cards", "Origin", "distilled")
    for link in page.locator("#cards .list a").all():
        link.click()
        playwright.expect(page.locator("dialog #failure")).to_be_visible()
        replaced = page.locator("dialog h4", has_text="Evicted as it came in")
        if replaced.count():
            break
        page.keyboard.press("Escape")
    link = page.locator("dialog h4:has-text('Evicted as it came in') + ul a").first
    name = link.inner_text()
    link.click()
    playwright.expect(page.locator("dialog h2")).to_have_text(name)
    playwright.expect(page.locator("dialog")).to_contain_text("evicted at step")


def test_cards_are_there_though_the_main_study_has_no_bank_of_sesa(open_page, tmp_path):
    """As where some trainings were made elsewhere: what is offered is what there is."""
    root = synthetic.write(MADE, tmp_path)
    for path in root.glob(f"training/main-sesa-s*/*/{BANK_FILE}"):
        path.unlink()
    page = open_page(write_page(Results(MADE, root), judged((0.1, 0.2)), []))
    found, total = count_of(page, "cards")
    assert 0 < found < total
    arms = page.locator("#cards").get_by_label("Arm", exact=True)
    assert arms.locator("option").all_inner_texts() == ["all arms", "base"]
    choose(page, "cards", "Arm", "base")
    choose(page, "cards", "Study", "tail-20")
    assert arms.locator("option").all_inner_texts() == ["all arms", "base", "sesa"]
    playwright.expect(arms).to_have_value("sesa")
    assert count_of(page, "cards")[0] > 0


def test_answers_with_a_transcript_come_first_and_the_others_say_so(open_page, small, tmp_path):
    results = Results(MADE, small.parent)
    few = tmp_path / "few.html"
    few.write_text(assemble.page(results, [], [], most=SIDES * 14), encoding="utf-8")
    page = open_page(few)
    assert count_of(page, "transcripts")[0] == 42
    told = f"{SIDES * 14} transcripts of {SIDES * 42} answers"
    playwright.expect(page.locator("#transcripts .note").last).to_contain_text(told)
    page.locator("#transcripts .more").click()
    rows = page.locator("#transcripts .list a").all_inner_texts()
    assert ["no transcript here" in row for row in rows[:40]] == [False] * 14 + [True] * 26
    page.locator("#transcripts .list a").first.click()
    playwright.expect(page.locator("dialog .pair .turn").first).to_be_visible()


def test_the_transcripts_of_a_card_are_those_that_were_shown_it(open_page, small):
    page = open_page(small)
    page.locator("#transcripts").scroll_into_view_if_needed()
    page.locator("#transcripts .list a").first.click()
    link = page.locator("dialog .pair a[href^='#card/']").first
    name = link.inner_text()
    link.click()
    page.locator("dialog").get_by_text("Their transcripts").click()
    playwright.expect(page.locator("dialog")).to_be_hidden()
    playwright.expect(page.locator("#transcripts button").first).to_contain_text(name)
    found, total = count_of(page, "transcripts")
    assert 0 < found < total
    page.locator("#transcripts button").first.click()
    playwright.expect(page.locator("#transcripts .count")).to_contain_text("42 of")


def test_two_sides_are_compared_and_differences_marked(open_page, small):
    page = open_page(small)
    count_of(page, "transcripts")
    choose(page, "transcripts", "From Off", "turned right")
    page.locator("#transcripts .list a").first.click()
    pair = page.locator("dialog .pair")
    playwright.expect(pair.locator("select")).to_have_count(2)  # the dialog is filled from packed data, a moment later
    assert pair.locator("select").evaluate_all("found => found.map((one) => one.selectedOptions[0].text)") == [
        "sesa, off",
        "sesa, on",
    ]
    assert pair.locator(".turn.other mark").count() >= 2
    pair.locator("select").last.select_option(label="ssp, off")
    page.wait_for_url("**/2")
    playwright.expect(pair.locator("select").last).to_have_value("2")
    playwright.expect(pair.locator("> div").first).to_contain_text("wrong")


def test_proposals_are_filtered_by_the_reason_of_their_rejection(open_page, small):
    page = open_page(small)
    found, total = count_of(page, "challenger")
    assert found == total == 3 * 2 * 8
    choose(page, "challenger", "Reject reason", "words")
    assert count_of(page, "challenger")[0] == total // 2
    page.locator("#challenger .list a").first.click()
    playwright.expect(page.locator("dialog")).to_contain_text("rejected: words")


def test_it_is_worked_by_keyboard(open_page, small):
    page = open_page(small)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    count_of(page, "cards")
    page.locator("#cards .list a").first.focus()
    page.keyboard.press("Enter")
    playwright.expect(page.locator("dialog")).to_be_visible()
    assert page.evaluate("document.querySelector('dialog').contains(document.activeElement)")


def test_plots_and_the_regime_map_answer(open_page, small):
    page = open_page(small)
    page.locator("#plots").scroll_into_view_if_needed()
    page.locator("#plots .legend button").first.wait_for()
    chart = page.locator("#plots .chart").first
    lines = chart.locator("polyline").count()
    page.locator("#plots .legend button").first.click()
    assert chart.locator("polyline").count() == lines - 1
    chart.locator("svg").hover()
    assert "update" in chart.locator(".tip").inner_text()
    before = page.locator(".heat").inner_text()
    assert before.count("model: ") == 4
    playwright.expect(page.locator("#plots")).to_contain_text("left out of its fit")
    choose(page, "plots", "Bank", "Off")
    assert page.locator(".heat").inner_text() != before
    choose(page, "plots", "Training metric", "Rejected questions: words")
    playwright.expect(page.locator("#plots")).to_contain_text("Rejected questions: words")


def test_every_control_has_a_name(open_page, small):
    page = open_page(small)
    for section in ("plots", "cards", "transcripts", "challenger"):
        page.locator(f"#{section}").scroll_into_view_if_needed()
        page.locator(f"#{section} .controls").first.wait_for()
    unnamed = """found => found.filter(
        (one) => !(one.labels?.length || one.textContent.trim() || one.getAttribute("aria-label"))).length"""
    assert page.locator("select, input, button").evaluate_all(unnamed) == 0


CONTRASTS = """() => {
  const style = getComputedStyle(document.documentElement);
  const linear = (value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const light = (name) => {
    const hex = style.getPropertyValue(`--${name}`).trim();
    const [red, green, blue] = [1, 3, 5].map((at) => linear(parseInt(hex.slice(at, at + 2), 16) / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05;
  };
  const pairs = ["text back", "soft back", "link back", "good back", "bad back", "open panel", "soft panel", "text panel",
    "good good-back", "bad bad-back", "text mark"];
  return pairs.map((pair) => [pair, pair.split(" ").map(light)]);
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read(open_page, small, scheme):
    """Contrast of 4.5 to 1 (WCAG AA) between each colour of text and what it stands on."""
    ratios = {pair: max(lights) / min(lights) for pair, lights in open_page(small, color_scheme=scheme).evaluate(CONTRASTS)}
    assert len(ratios) == 11
    assert {pair: ratio for pair, ratio in ratios.items() if ratio < 4.5} == {}


def test_paper_has_the_claims_and_tables_and_not_the_browsers(open_page, small):
    page = open_page(small, color_scheme="dark")
    page.locator("#plots").scroll_into_view_if_needed()
    page.locator("#plots .legend button").first.wait_for()
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 718, "height": 1050})  # A4 less its margins
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert [page.locator(f"#{name}").is_visible() for name in ("claims", "tables", "plots", "cards", "transcripts")] == [
        True, True, True, False, False,
    ]  # fmt: skip


def test_plots_are_on_paper_though_nobody_scrolled_to_them(open_page, small):
    page = open_page(small, width="phone")
    assert page.locator("#plots svg").count() == 0
    # Heard after the page's own: what is there now is what is printed.
    page.evaluate("""addEventListener("beforeprint", () => {
      window.printed = document.querySelectorAll("#plots > :not([aria-busy]) svg[role=img]").length;
    })""")
    page.pdf()
    assert page.evaluate("window.printed") == 4
    page.locator("#plots").scroll_into_view_if_needed()
    assert page.locator("#plots svg[role=img]").count() == 4


def test_a_browser_without_decompression_reads_the_same(open_page, small):
    page = open_page(small, script="delete window.DecompressionStream")
    assert page.evaluate("typeof DecompressionStream") == "undefined"
    assert count_of(page, "transcripts") == (42, 42 * SIDES)
    page.locator("#transcripts .list a").first.click()
    playwright.expect(page.locator("dialog .passage").first).to_be_visible()


PAINTED = """new Promise((told) => new PerformanceObserver((list) => told(list.getEntries()[0].startTime))
  .observe({type: "paint", buffered: true}))"""


def test_ten_thousand_answers_paint_as_soon_as_few(open_page, small, large):
    """The first paint waits for no data: with 34 times the answers it comes at most five times as late."""
    few, many = (min(open_page(path).evaluate(PAINTED) for _ in range(3)) for path in (small, large))
    page = open_page(large)
    assert count_of(page, "transcripts")[1] == 2 * 7 * 103 * SIDES > 10_000
    assert page.locator("#transcripts .list a").count() == 20
    page.locator("#transcripts .more").click()
    assert page.locator("#transcripts .list a").count() == 40
    assert many < 5 * few

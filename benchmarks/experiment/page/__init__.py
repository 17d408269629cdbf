"""The page of an experiment: `report.html`, one file to be read in any browser, without a network."""

from benchmarks.experiment.page.assemble import MOST, PAGE, write_page

__all__ = ["MOST", "PAGE", "write_page"]

"""``eosparse score``: score a table with a saved model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from eosparse.cli import table_options as options
from eosparse.cli.printing import add_notes, print_summary
from eosparse.cli.progress import StatusLine

if TYPE_CHECKING:
    from eosparse.tables.cells import Missing
    from eosparse.tables.models import SavedModel
    from eosparse.tables.summary import DetectionSummary


def score(
    model: Annotated[Path, typer.Argument(help="Model saved by eosparse detect --save-model.")],
    table: options.Source,
    missing: options.GapsOption = options.Gaps.keep,
    level: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=1.0,
            help="Flag p-values below this level; by default, use the model's cut-off.",
        ),
    ] = None,
    output: options.OutputOption = None,
    as_json: options.JsonOption = False,
    top: options.TopOption = 20,
    force: options.ForceOption = False,
    safe: options.SafeOption = False,
    sheet: options.SheetOption = None,
    separator: options.SeparatorOption = None,
    encoding: options.EncodingOption = None,
    header: options.HeaderOption = None,
) -> None:
    """Find outliers in a table with a saved model.

    Exit codes: 0 success, 1 unforeseen error, 2 usage error or unusable file, 4 no memory or disk
    space, 130 interrupted.
    """
    from eosparse.tables.models import load_model

    reading = options.Reading(sheet, separator, encoding, header)
    selection = options.TableSelection(table, reading=reading)
    files = options.OutputFiles(output, force=force, safe=safe)
    with options.handle_errors() as notes, StatusLine() as status:
        files.check()
        status.show("Reading the table")
        scoring = _Scoring(load_model(model), missing.value, level, files, status)
        summary = scoring.stream(selection) if selection.is_streamed else scoring.read(selection)
    print_summary(add_notes(summary, notes), as_json=as_json, top=top, written=files.paths)


@dataclass(frozen=True)
class _Scoring:
    """A saved model and what is asked of it."""

    saved: SavedModel
    missing: Missing
    level: float | None
    files: options.OutputFiles
    status: StatusLine

    def read(self, selection: options.TableSelection) -> DetectionSummary:
        """Score a table in memory."""
        from eosparse.tables import take_cells
        from eosparse.tables.detection import append_scores, score_new_rows, summarise_detection

        source, saved = selection.reading.read(selection.tables), self.saved
        columns = saved.match_columns(source)
        self.status.show(f"Scoring {len(source.frame):,} rows")
        cells = take_cells(source.frame, columns, missing=self.missing, encoding=saved.encoding)
        scored = score_new_rows(source, columns, cells, saved.detector, self.level)
        summary = self._summarise(summarise_detection(scored))
        self.files.write_output(append_scores(scored, summary), source)
        return summary

    def stream(self, selection: options.TableSelection) -> DetectionSummary:
        """Score a table on disk."""
        from eosparse.tables.stream_judging import Verdict, judge_streamed
        from eosparse.tables.streaming import StreamedTable

        survey = selection.survey(self.files.output, self.status)
        table = StreamedTable.prepare_new(survey, self.saved, self.missing)
        self.status.show(f"Scoring {survey.n_rows:,} rows")
        output, safe = self.files.output, self.files.safe
        verdict = Verdict(
            self.saved.detector, is_new=True, level=self.level, output=output, safe=safe
        )
        return self._summarise(judge_streamed(table, verdict)[0])

    def _summarise(self, summary: DetectionSummary) -> DetectionSummary:
        from eosparse.tables.detection import summarise_scoring

        return summarise_scoring(summary, self.saved.detector, self.level)

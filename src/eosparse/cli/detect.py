"""``eosparse detect``: find outliers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eosparse.cli import table_options as options
from eosparse.cli.printing import add_notes, print_summary
from eosparse.cli.progress import StatusLine

if TYPE_CHECKING:
    from eosparse import EOSDetector
    from eosparse.tables.summary import DetectionSummary


def detect(
    table: options.Source,
    columns: options.ColumnsOption = None,
    ignore: options.IgnoreOption = None,
    identifier: options.IdOption = None,
    kind: options.KindOption = None,
    missing: options.GapsOption = options.Gaps.keep,
    model: options.ErrorModelOption = options.ErrorModel.auto,
    groups: options.GroupsOption = options.Groups.outliers,
    fdr: options.FdrOption = 0.01,
    alpha: options.AlphaOption = None,
    output: options.OutputOption = None,
    report: options.ReportOption = None,
    embed: options.EmbedOption = options.Embed.flagged,
    as_json: options.JsonOption = False,
    save_model: options.ModelOption = None,
    top: options.TopOption = 20,
    force: options.ForceOption = False,
    safe: options.SafeOption = False,
    sheet: options.SheetOption = None,
    separator: options.SeparatorOption = None,
    encoding: options.EncodingOption = None,
    header: options.HeaderOption = None,
) -> None:
    """Find outliers in a table, with p-values and reasons.

    Exit codes: 0 success, 1 unforeseen error, 2 usage error or unusable file, 3 no result (the
    weights collapsed), 4 no memory or disk space, 130 interrupted.
    """
    kinds = options.split_kinds(kind)
    reading = options.Reading(sheet, separator, encoding, header)
    selection = options.TableSelection(
        table, columns, ignore, identifier, kinds=kinds, reading=reading
    )
    files = options.OutputFiles(output, report, save_model, force, safe)
    with options.handle_errors() as notes, StatusLine() as status:
        files.check()
        from eosparse import EOSDetector  # takes a second, which the status line bridges

        detector = EOSDetector(
            "auto" if alpha is None else alpha,
            fdr=fdr,
            model=model.value,
            kinds=kinds,
            groups=groups.value,
            callback=status.show_iteration,
        )
        if selection.is_streamed:
            summary = _detect_on_disk(selection, missing, detector, files, embed, notes, status)
        else:
            summary = _detect_in_memory(selection, missing, detector, files, embed, notes, status)
    print_summary(add_notes(summary, notes), as_json=as_json, top=top, written=files.paths)


def _detect_in_memory(
    selection: options.TableSelection,
    missing: options.Gaps,
    detector: EOSDetector,
    files: options.OutputFiles,
    embed: options.Embed,
    notes: list[str],
    status: StatusLine,
) -> DetectionSummary:
    from eosparse.tables import take_cells
    from eosparse.tables.detection import append_scores, score_training_rows, summarise_detection
    from eosparse.tables.fitting import fit_cells, suit_model

    status.show("Reading the table")
    source, columns = selection.read()
    columns = suit_model(columns, detector)
    cells = take_cells(source.frame, columns, missing=missing.value)
    status.show(f"Fitting {len(cells.frame):,} rows, {len(cells.names):,} columns")
    fit_cells(detector, cells)
    detector.set_params(callback=None)  # the report's path along alpha copies the detector
    status.show("Explaining the flagged rows")
    scored = score_training_rows(source, columns, cells, detector)
    summary = summarise_detection(scored)
    if files.output is not None:
        status.show(f"Writing {files.output.name}")
        files.write_output(append_scores(scored, summary), source)
    if files.report is not None:
        from eosparse.report.html import write_detection_report
        from eosparse.tables.outlier_map import map_outliers

        status.show(f"Writing {files.report.name}")
        outlier_map, noted = map_outliers(scored), add_notes(summary, notes)
        write_detection_report(noted, outlier_map, source.frame, files.report, embed=embed.value)
    if files.model is not None:
        from eosparse.tables.models import save_model

        save_model(detector, columns, cells, files.model)
    return summary


def _detect_on_disk(
    selection: options.TableSelection,
    missing: options.Gaps,
    detector: EOSDetector,
    files: options.OutputFiles,
    embed: options.Embed,
    notes: list[str],
    status: StatusLine,
) -> DetectionSummary:
    from eosparse.tables import TableError
    from eosparse.tables.fitting import suit_model
    from eosparse.tables.stream_cells import correct_roles
    from eosparse.tables.stream_judging import Verdict, judge_streamed
    from eosparse.tables.streaming import StreamedTable, fit_streamed

    if files.report is not None and embed is options.Embed.all:
        raise TableError("--embed all needs a table that fits into memory.")
    survey = selection.survey(files.output, status)
    found = selection.recognise(survey.sample)
    found = correct_roles(found, survey, is_selected=bool(selection.columns))
    table = StreamedTable.prepare(survey, suit_model(found, detector), missing.value)
    status.show(f"Fitting {survey.n_rows:,} rows, {len(table.cells.names):,} columns")
    fit_streamed(detector, table)
    detector.set_params(callback=None)
    status.show(f"Judging {survey.n_rows:,} rows")
    has_report = files.report is not None
    verdict = Verdict(detector, output=files.output, safe=files.safe, has_report=has_report)
    summary, kept = judge_streamed(table, verdict)
    if files.report is not None:
        from eosparse.report.html import write_detection_report
        from eosparse.tables.stream_report import prepare_report

        status.show(f"Writing {files.report.name}")
        made = prepare_report(summary, table, detector, kept)
        noted = add_notes(made.summary, notes)
        write_detection_report(noted, made.outlier_map, made.frame, files.report, embed=embed.value)
    if files.model is not None:
        from eosparse.tables.models import save_model

        save_model(detector, table.columns, table.cells, files.model)
    return summary

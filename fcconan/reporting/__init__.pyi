from .benchmark_reports import (
    check_report as check_report,
    trec_files as trec_files,
    write_report as write_report,
)
from .benchmark_tables import (
    answer_tables as answer_tables,
    terminal_tables as terminal_tables,
)
from .benchmark_words import (
    label_notes as label_notes,
)
from .campaigns import (
    main_quality_tables as main_quality_tables,
    not_made as not_made,
    quality_page as quality_page,
    quality_tables as quality_tables,
)
from .correlations import (
    correlation_tables as correlation_tables,
    difference_tables as difference_tables,
)
from .dataset_pages import (
    dataset_page as dataset_page,
)
from .generators import (
    AUDIT_COLUMNS as AUDIT_COLUMNS,
    headline_tables as headline_tables,
    results_of as results_of,
    signatures_of as signatures_of,
    write_generator_report as write_generator_report,
)
from .html_tables import (
    table_html as table_html,
)
from .judge_benchmark import (
    check_judge_report as check_judge_report,
    judge_tables as judge_tables,
    write_judge_report as write_judge_report,
)
from .page import (
    Page as Page,
    check_page as check_page,
    write_page as write_page,
)
from .plots import (
    curve_plot as curve_plot,
)
from .prediction_powered import (
    powered_tables as powered_tables,
)
from .reproduced_values import (
    reproduction_page as reproduction_page,
)
from .retrieval import (
    drill_down as drill_down,
)
from .safety import (
    safety_report as safety_report,
)
from .scores import (
    agreement_notes as agreement_notes,
    agreement_page as agreement_page,
    agreement_tables as agreement_tables,
    correlation_page as correlation_page,
    leaderboard_page as leaderboard_page,
    leaderboard_tables as leaderboard_tables,
    tournament_page as tournament_page,
    tournament_tables as tournament_tables,
)
from .site.inputs import (
    find_inputs as find_inputs,
)
from .site.pages import (
    bench_page as bench_page,
    pages_of as pages_of,
)
from .site.write import (
    check_site as check_site,
    write_site as write_site,
)
from .tables import (
    Table as Table,
    counts_text as counts_text,
    interval as interval,
    interval_of as interval_of,
    number as number,
    number_columns as number_columns,
    shown as shown,
    table_of as table_of,
)
from .text_metrics import (
    metrics_page as metrics_page,
    metrics_tables as metrics_tables,
)

from .benchmark_reports import (
    check_report as check_report,
)
from .benchmark_reports import (
    trec_files as trec_files,
)
from .benchmark_reports import (
    write_report as write_report,
)
from .campaigns import (
    not_made as not_made,
)
from .campaigns import (
    quality_tables as quality_tables,
)
from .campaigns import (
    write_quality_page as write_quality_page,
)
from .correlations import (
    correlation_tables as correlation_tables,
)
from .differences import (
    difference_tables as difference_tables,
)
from .explorer import (
    explorer_page as explorer_page,
)
from .generators import (
    gist_of as gist_of,
)
from .generators import (
    results_of as results_of,
)
from .generators import (
    signatures_of as signatures_of,
)
from .generators import (
    write_generator_report as write_generator_report,
)
from .ledger import (
    write_ledger as write_ledger,
)
from .loss_curve import (
    curve_plot as curve_plot,
)
from .page import (
    Page as Page,
)
from .page import (
    write as write,
)
from .retrieval import (
    drill_down as drill_down,
)
from .safety import (
    safety_report as safety_report,
)
from .scores import (
    agreement_tables as agreement_tables,
)
from .scores import (
    correlation_page as correlation_page,
)
from .scores import (
    leaderboard_page as leaderboard_page,
)
from .scores import (
    leaderboard_tables as leaderboard_tables,
)
from .scores import (
    tournament_page as tournament_page,
)
from .scores import (
    tournament_tables as tournament_tables,
)
from .scores import (
    write_agreement as write_agreement,
)
from .scores import (
    write_correlations as write_correlations,
)
from .scores import (
    write_tournament as write_tournament,
)
from .sections import (
    check_page as check_page,
)
from .sections import (
    interval as interval,
)
from .sections import (
    number as number,
)
from .site.inputs import (
    find_inputs as find_inputs,
)
from .site.pages import (
    bench_page as bench_page,
)
from .site.pages import (
    pages_of as pages_of,
)
from .site.write import (
    check_site as check_site,
)
from .site.write import (
    write_site as write_site,
)
from .tables import (
    Table as Table,
)
from .tables import (
    terminal_tables as terminal_tables,
)

from .campaigns import (
    main_quality_tables as main_quality_tables,
    quality_page as quality_page,
    quality_tables as quality_tables,
)
from .correlations import (
    correlation_tables as correlation_tables,
)
from .html_tables import (
    table_html as table_html,
)
from .page import (
    Page as Page,
    check_page as check_page,
    write_page as write_page,
)
from .plots import (
    curve_plot as curve_plot,
)
from .reproduced_values import (
    reproduction_tables as reproduction_tables,
)
from .scores import (
    agreement_notes as agreement_notes,
    agreement_page as agreement_page,
    agreement_tables as agreement_tables,
    correlation_page as correlation_page,
)
from .tables import (
    DisplayTable as DisplayTable,
    format_counts as format_counts,
    format_interval as format_interval,
    format_number as format_number,
    format_row_interval as format_row_interval,
    format_value as format_value,
    make_table as make_table,
    number_columns as number_columns,
)
from .text_metrics import (
    metrics_tables as metrics_tables,
)

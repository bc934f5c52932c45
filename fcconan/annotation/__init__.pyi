from .active_learning.features import (
    problem_of as problem_of,
    read_positive as read_positive,
    read_scores as read_scores,
)
from .active_learning.queue import (
    Batch as Batch,
    Queue as Queue,
    queue_summary as queue_summary,
    step as step,
)
from .active_learning.reply_selection import (
    ReplyQueue as ReplyQueue,
    known_probabilities as known_probabilities,
    select_replies as select_replies,
    selection_summary as selection_summary,
)
from .adjudication import (
    Outcome as Outcome,
    adjudicate as adjudicate,
    counts_of as counts_of,
    decisions_of_persons as decisions_of_persons,
    final_labels as final_labels,
)
from .assignment.assignments import (
    Spread as Spread,
    derived_seed as derived_seed,
    spread_of as spread_of,
)
from .assignment.reassignment import (
    reassign as reassign,
)
from .assignment.rounds import (
    Plan as Plan,
    done_in as done_in,
    items_of as items_of,
    make_round as make_round,
    review_cases as review_cases,
)
from .assignment.validators import (
    options_of as options_of,
    plan_validation as plan_validation,
    write_plan as write_plan,
)
from .attention import (
    check_families as check_families,
    checks as checks,
    family_notes as family_notes,
)
from .campaigns import (
    QUALIFICATION as QUALIFICATION,
    VALIDATION as VALIDATION,
    Assignment as Assignment,
    Campaign as Campaign,
    Decision as Decision,
    Role as Role,
    Settings as Settings,
)
from .disagreements import (
    DISCARD as DISCARD,
    conflict_rows as conflict_rows,
    merged as merged,
    read_conflicts as read_conflicts,
    write_conflicts as write_conflicts,
)
from .imports import (
    Imported as Imported,
    import_files as import_files,
    read_people as read_people,
)
from .pair_scoring.lists import (
    Lists as Lists,
    read_lists as read_lists,
)
from .pair_scoring.scorers import (
    Asking as Asking,
    JudgeScorer as JudgeScorer,
    Scorer as Scorer,
    named as named,
    pairs_of as pairs_of,
)
from .pair_scoring.scores import (
    Scoring as Scoring,
    Selection as Selection,
    plan as plan,
    scoring_summary as scoring_summary,
)
from .progress import (
    progress_of as progress_of,
)
from .qualification import (
    join as join,
    leave as leave,
    qualify as qualify,
    quiz_round as quiz_round,
)
from .quality import (
    agreement_rows as agreement_rows,
    disputed_units as disputed_units,
    mean_of_subsets as mean_of_subsets,
    rated as rated,
)
from .release_recipe import (
    Written as Written,
    write_dataset as write_dataset,
)
from .sampling.combinations import (
    WHY as WHY,
    Material as Material,
    Neighbours as Neighbours,
    construct as construct,
)
from .sampling.corpus import (
    Corpus as Corpus,
    neighbour_finder as neighbour_finder,
    read_corpus as read_corpus,
    usual_encoder as usual_encoder,
)
from .sampling.gold_questions import (
    add_known as add_known,
)
from .sampling.lists import (
    comparison_units as comparison_units,
    list_texts as list_texts,
    make_once as make_once,
    pair_lists as pair_lists,
    read_list as read_list,
    reply_units as reply_units,
)
from .simulation.forecast import (
    Pace as Pace,
    Panel as Panel,
    effort as effort,
    expected as expected,
    measured_pace as measured_pace,
    simulated_pace as simulated_pace,
)
from .simulation.raters import (
    Behaviour as Behaviour,
    Behaviours as Behaviours,
    behaviours_of as behaviours_of,
    check_names as check_names,
    named_raters as named_raters,
    read_behaviours as read_behaviours,
)
from .simulation.sheets import (
    POSITIVE_RATE as POSITIVE_RATE,
    Truth as Truth,
    draw_truth as draw_truth,
    filled_in as filled_in,
    read_truth as read_truth,
    right_shares as right_shares,
    sheets as sheets,
)
from .tools.exchange import (
    export as export,
    read_file as read_file,
    read_suggestions as read_suggestions,
    write as write,
)
from .validation import (
    STATES as STATES,
    validated_things as validated_things,
    validation_summary as validation_summary,
)
from .votes import (
    answers_of as answers_of,
    votes_of as votes_of,
)

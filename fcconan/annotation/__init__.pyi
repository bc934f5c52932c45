from .active_learning.features import (
    problem_of as problem_of,
)
from .active_learning.queue import (
    Batch as Batch,
)
from .active_learning.queue import (
    Queue as Queue,
)
from .active_learning.queue import (
    check_size as check_size,
)
from .active_learning.queue import (
    queue_summary as queue_summary,
)
from .active_learning.queue import (
    step as step,
)
from .active_learning.scores import (
    read_scores as read_scores,
)
from .active_learning.stopping import (
    check as check,
)
from .active_learning.target import (
    read_positive as read_positive,
)
from .adjudication import (
    Outcome as Outcome,
)
from .adjudication import (
    adjudicate as adjudicate,
)
from .adjudication import (
    counts_of as counts_of,
)
from .adjudication import (
    decisions_of_persons as decisions_of_persons,
)
from .adjudication import (
    final_labels as final_labels,
)
from .assignment.assignments import (
    BLOCKS as BLOCKS,
)
from .assignment.assignments import (
    derived_seed as derived_seed,
)
from .assignment.assignments import (
    spread_of as spread_of,
)
from .assignment.reassignment import (
    reassign as reassign,
)
from .assignment.rounds import (
    Plan as Plan,
)
from .assignment.rounds import (
    done_in as done_in,
)
from .assignment.rounds import (
    items_of as items_of,
)
from .assignment.rounds import (
    make_round as make_round,
)
from .assignment.rounds import (
    review_cases as review_cases,
)
from .attention import (
    check_families as check_families,
)
from .attention import (
    checks as checks,
)
from .attention import (
    family_notes as family_notes,
)
from .campaigns import (
    QUALIFICATION as QUALIFICATION,
)
from .campaigns import (
    VALIDATION as VALIDATION,
)
from .campaigns import (
    Assignment as Assignment,
)
from .campaigns import (
    Campaign as Campaign,
)
from .campaigns import (
    Settings as Settings,
)
from .disagreements import (
    DISCARD as DISCARD,
)
from .disagreements import (
    conflict_rows as conflict_rows,
)
from .disagreements import (
    counted as counted,
)
from .disagreements import (
    merged as merged,
)
from .disagreements import (
    read_conflicts as read_conflicts,
)
from .disagreements import (
    write_conflicts as write_conflicts,
)
from .imports import (
    Imported as Imported,
)
from .imports import (
    import_files as import_files,
)
from .imports import (
    read_people as read_people,
)
from .pair_scoring.lists import (
    read_lists as read_lists,
)
from .pair_scoring.scorers import (
    Asking as Asking,
)
from .pair_scoring.scorers import (
    JudgeScorer as JudgeScorer,
)
from .pair_scoring.scorers import (
    Scorer as Scorer,
)
from .pair_scoring.scorers import (
    named as named,
)
from .pair_scoring.scores import (
    Scoring as Scoring,
)
from .pair_scoring.scores import (
    Selection as Selection,
)
from .pair_scoring.scores import (
    open_questions as open_questions,
)
from .pair_scoring.scores import (
    plan as plan,
)
from .pair_scoring.scores import (
    scoring_summary as scoring_summary,
)
from .qualification import (
    join as join,
)
from .qualification import (
    leave as leave,
)
from .qualification import (
    qualify as qualify,
)
from .qualification import (
    quiz_round as quiz_round,
)
from .quality import (
    agreement_rows as agreement_rows,
)
from .quality import (
    disputed_units as disputed_units,
)
from .quality import (
    mean_of_subsets as mean_of_subsets,
)
from .quality import (
    rated as rated,
)
from .release_recipe import (
    write_dataset as write_dataset,
)
from .sampling.combinations import (
    WHY as WHY,
)
from .sampling.combinations import (
    Material as Material,
)
from .sampling.combinations import (
    Neighbours as Neighbours,
)
from .sampling.combinations import (
    construct as construct,
)
from .sampling.corpus import (
    Corpus as Corpus,
)
from .sampling.corpus import (
    read_corpus as read_corpus,
)
from .sampling.folder import (
    make_once as make_once,
)
from .sampling.gold_questions import (
    add_known as add_known,
)
from .sampling.lists import (
    WHY_LISTS as WHY_LISTS,
)
from .sampling.lists import (
    WHY_REPLIES as WHY_REPLIES,
)
from .sampling.lists import (
    comparison_units as comparison_units,
)
from .sampling.lists import (
    list_texts as list_texts,
)
from .sampling.lists import (
    pair_lists as pair_lists,
)
from .sampling.lists import (
    reply_units as reply_units,
)
from .sampling.neighbours import (
    neighbour_finder as neighbour_finder,
)
from .sampling.neighbours import (
    usual_encoder as usual_encoder,
)
from .simulation.forecast import (
    Panel as Panel,
)
from .simulation.forecast import (
    expected as expected,
)
from .simulation.forecast import (
    simulated_pace as simulated_pace,
)
from .simulation.raters import (
    Behaviour as Behaviour,
)
from .simulation.raters import (
    Behaviours as Behaviours,
)
from .simulation.raters import (
    Role as Role,
)
from .simulation.raters import (
    behaviours_of as behaviours_of,
)
from .simulation.raters import (
    check_names as check_names,
)
from .simulation.raters import (
    named_raters as named_raters,
)
from .simulation.raters import (
    read_behaviours as read_behaviours,
)
from .simulation.sheets import (
    POSITIVE_RATE as POSITIVE_RATE,
)
from .simulation.sheets import (
    Truth as Truth,
)
from .simulation.sheets import (
    draw_truth as draw_truth,
)
from .simulation.sheets import (
    filled_in as filled_in,
)
from .simulation.sheets import (
    read_truth as read_truth,
)
from .simulation.sheets import (
    right_shares as right_shares,
)
from .simulation.sheets import (
    sheets as sheets,
)
from .tools.exchange import (
    export as export,
)
from .tools.exchange import (
    read_file as read_file,
)
from .tools.exchange import (
    write as write,
)
from .tools.suggestions import (
    read_suggestions as read_suggestions,
)
from .validation import (
    STATES as STATES,
)
from .validation import (
    options_of as options_of,
)
from .validation import (
    plan_validation as plan_validation,
)
from .validation import (
    validated_things as validated_things,
)
from .validation import (
    validation_summary as validation_summary,
)
from .validation import (
    write_plan as write_plan,
)
from .votes import (
    answers_of as answers_of,
)
from .votes import (
    votes_of as votes_of,
)
from .workload import (
    Effort as Effort,
)
from .workload import (
    Pace as Pace,
)
from .workload import (
    effort as effort,
)
from .workload import (
    measured_pace as measured_pace,
)

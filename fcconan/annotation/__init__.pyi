from .adjudication import (
    Outcome as Outcome,
    adjudicate as adjudicate,
    count_outcomes as count_outcomes,
    final_labels as final_labels,
    human_decisions as human_decisions,
)
from .assignment.assignments import (
    Balance as Balance,
    derived_seed as derived_seed,
    measure_balance as measure_balance,
)
from .assignment.reassignment import (
    reassign as reassign,
)
from .assignment.rounds import (
    RoundPlan as RoundPlan,
    completed_assignments as completed_assignments,
    make_round as make_round,
    review_cases as review_cases,
    units_by_rater as units_by_rater,
)
from .assignment.validators import (
    plan_validation as plan_validation,
    validation_options as validation_options,
    write_plan as write_plan,
)
from .campaigns import (
    QUALIFICATION as QUALIFICATION,
    VALIDATION as VALIDATION,
    Assignment as Assignment,
    Campaign as Campaign,
    Decision as Decision,
    Settings as Settings,
)
from .disagreements import (
    DISCARD as DISCARD,
    conflict_rows as conflict_rows,
    merge_decisions as merge_decisions,
    read_conflicts as read_conflicts,
    write_conflicts as write_conflicts,
)
from .imports import (
    Imported as Imported,
    import_files as import_files,
    read_people as read_people,
)
from .progress import (
    campaign_progress as campaign_progress,
    next_step as next_step,
)
from .qualification import (
    assign_qualification as assign_qualification,
    join as join,
    leave as leave,
    qualify as qualify,
)
from .queue_estimate import (
    estimate as estimate,
)
from .queue_model import (
    Problem as Problem,
    choose as choose,
    likeness as likeness,
    predict as predict,
    standardised as standardised,
)
from .queueing import (
    queue_units as queue_units,
)
from .release_recipe import (
    WrittenDataset as WrittenDataset,
    write_dataset as write_dataset,
)
from .sampling.combinations import (
    COUNT_DESCRIPTIONS as COUNT_DESCRIPTIONS,
    CampaignContent as CampaignContent,
    Neighbours as Neighbours,
    sample_pairs as sample_pairs,
)
from .sampling.corpus import (
    Corpus as Corpus,
    default_encoder as default_encoder,
    neighbour_finder as neighbour_finder,
    read_corpus as read_corpus,
)
from .sampling.gold_questions import (
    add_gold_questions as add_gold_questions,
)
from .sampling.lists import (
    comparison_units as comparison_units,
    create_campaign as create_campaign,
    list_texts as list_texts,
    pair_lists as pair_lists,
    read_list as read_list,
    reply_units as reply_units,
)
from .simulation import (
    answered_sheets as answered_sheets,
    sample_truth as sample_truth,
    simulate_answers as simulate_answers,
)
from .tools.exchange import (
    export as export,
    read_file as read_file,
    write as write,
)
from .validation import (
    STATES as STATES,
    validation_summary as validation_summary,
    validation_targets as validation_targets,
)
from .votes import (
    answers_of as answers_of,
    vote_rows as vote_rows,
)

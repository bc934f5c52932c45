from .active_learning.features import (
    build_problem as build_problem,
    read_positive as read_positive,
    read_scores as read_scores,
)
from .active_learning.queue import (
    Batch as Batch,
    Queue as Queue,
    make_batch as make_batch,
    queue_summary as queue_summary,
)
from .active_learning.reply_selection import (
    ReplyQueue as ReplyQueue,
    select_replies as select_replies,
    selection_summary as selection_summary,
    stored_probabilities as stored_probabilities,
)
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
from .attention import (
    attention_checks as attention_checks,
    check_families as check_families,
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
)
from .qualification import (
    assign_qualification as assign_qualification,
    join as join,
    leave as leave,
    qualify as qualify,
)
from .quality import (
    agreement_rows as agreement_rows,
    disputed_units as disputed_units,
    reliability_data as reliability_data,
    subset_means as subset_means,
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
from .simulation.forecast import (
    Pace as Pace,
    Panel as Panel,
    estimate_effort as estimate_effort,
    measured_pace as measured_pace,
    simulate_campaigns as simulate_campaigns,
    simulated_pace as simulated_pace,
)
from .simulation.raters import (
    AnnotatorModel as AnnotatorModel,
    AnnotatorModels as AnnotatorModels,
    annotator_models as annotator_models,
    check_names as check_names,
    known_raters as known_raters,
    read_annotator_models as read_annotator_models,
)
from .simulation.sheets import (
    POSITIVE_RATE as POSITIVE_RATE,
    GroundTruth as GroundTruth,
    count_correct as count_correct,
    make_sheets as make_sheets,
    read_ground_truth as read_ground_truth,
    sample_ground_truth as sample_ground_truth,
    simulate_answers as simulate_answers,
)
from .tools.exchange import (
    export as export,
    read_file as read_file,
    read_suggestions as read_suggestions,
    write as write,
)
from .validation import (
    STATES as STATES,
    validation_summary as validation_summary,
    validation_targets as validation_targets,
)
from .votes import (
    answers_of as answers_of,
    current_votes as current_votes,
)

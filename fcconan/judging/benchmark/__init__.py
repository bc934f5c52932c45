"""Judge benchmark: agreement of raters with people on the replies of a dataset.

`suites` reads the list of raters, `rated_rows` the rows with ratings by people and released raters. `predictions`
computes the ratings of each rater, out of fold if it learns, and `evaluation` their correlation with people.
"""

"""The benchmark of judges: how well raters follow people on the rows of a dataset.

`suites` lists the raters, `rated_rows` has the rows with people's and the released ratings, `predictions` has what
each rater gives the rows, out of fold where it learns, and `evaluation` compares this with people.
"""

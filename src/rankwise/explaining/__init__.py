"""Why a document has its score, and why one is above another: each feature's part of a difference of scores.

    functions      scores as functions of features; kernel_sums: those of kernels, which need scikit-learn
    choosing       the query and the documents that a user names
    contributions  what is computed: `explain`, `explain_pair`
    explanations   what is returned: values with a text, a table and a picture; words: their sentences

The score of a linear ranker is a sum over the features, so its parts are exact. That of a kernel ranker is not: its
differences are split by integrated gradients (`kernel_sums`). A scaler acts on each feature alone, so the parts of the
scaled features are those of the raw ones, and raw values are shown.
"""

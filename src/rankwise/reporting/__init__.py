"""The report: one HTML file about rankers on judged data, `rankwise.report.html(model, test).save("report.html")`.

    building   `html`, from what a user gives
    subjects   the rankers: scores, and of models how they are computed
    studies    what is computed; refits and features: what takes more than one evaluation
    pages      the page; sections, queries: its parts; words: its sentences
    markup, svg, style.css, script.js   HTML, pictures, look and behaviour

The room may import every room that computes something. Nothing imports it but the commands, and `rankwise.report`, on
first use.
"""

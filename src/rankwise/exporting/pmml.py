"""PMML 4.4: a RegressionModel; a scaling is written as derived fields, (x - shift) * scale."""

import re
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from rankwise import __version__
from rankwise.exporting.parts import Linear
from rankwise.exporting.targets import Request, Target

_NOT_IN_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_NUMBER = {"optype": "continuous", "dataType": "double"}


def pmml(model: Linear, request: Request) -> bytes:
    """A document with one model, whose output is the score."""
    for name in (*model.names, request.name):
        if _NOT_IN_XML.search(name) or not name:
            raise ValueError(f"{name!r} cannot be written in XML: choose a name without control characters")
    root = Element("PMML", {"version": "4.4", "xmlns": "http://www.dmg.org/PMML-4_4"})
    SubElement(SubElement(root, "Header"), "Application", {"name": "rankwise", "version": __version__})
    dictionary = SubElement(root, "DataDictionary", {"numberOfFields": str(len(model.names))})
    regression = SubElement(root, "RegressionModel", {"modelName": request.name, "functionName": "regression"})
    schema = SubElement(regression, "MiningSchema")
    output = SubElement(regression, "Output")
    score = _unused("score", model.names)
    SubElement(output, "OutputField", {"name": score, **_NUMBER, "feature": "predictedValue"})
    fields = dict(zip(model.names, model.names, strict=True))
    if model.scaling is not None:
        transformations = SubElement(regression, "LocalTransformations")
        taken = {score, *model.names}
        fields = {name: _unused(f"scaled {name}", taken) for name in model.names}
        for name, shift, scale in zip(model.names, model.shift.tolist(), model.scale.tolist(), strict=True):
            _derive(transformations, fields[name], name, shift, scale)
    table = SubElement(regression, "RegressionTable", {"intercept": repr(model.intercept)})
    for name, weight in zip(model.names, model.weights.tolist(), strict=True):
        SubElement(dictionary, "DataField", {"name": name, **_NUMBER})
        SubElement(schema, "MiningField", {"name": name})
        SubElement(table, "NumericPredictor", {"name": fields[name], "coefficient": repr(weight)})
    ElementTree.indent(root)
    text: bytes = ElementTree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _derive(transformations: Element, field: str, name: str, shift: float, scale: float) -> None:
    """field = (name - shift) * scale; a NormContinuous between two points would round shift + 1 / scale."""
    derived = SubElement(transformations, "DerivedField", {"name": field, **_NUMBER})
    product = SubElement(derived, "Apply", {"function": "*"})
    difference = SubElement(product, "Apply", {"function": "-"})
    SubElement(difference, "FieldRef", {"field": name})
    for parent, constant in ((difference, shift), (product, scale)):
        SubElement(parent, "Constant", {"dataType": "double"}).text = repr(constant)


def _unused(name: str, taken: "set[str] | tuple[str, ...]") -> str:
    while name in taken:
        name += "_"
    return name


PMML = Target("pmml", pmml)

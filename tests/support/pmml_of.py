"""A scikit-learn tree written as PMML by the letter of the standard, with the people of every leaf."""

from __future__ import annotations

from typing import Any


def pmml_of(model: Any, names: list[str], target: str, classes: list[str]) -> bytes:
    """The TreeModel of a fitted DecisionTreeClassifier."""
    fields = "".join(f'<DataField name="{name}" optype="continuous" dataType="double"/>' for name in names)
    values = "".join(f'<Value value="{value}"/>' for value in classes)
    mined = "".join(f'<MiningField name="{name}"/>' for name in names)
    return f"""<PMML version="4.4" xmlns="http://www.dmg.org/PMML-4_4"><Header/><DataDictionary>{fields}
<DataField name="{target}" optype="categorical" dataType="string">{values}</DataField></DataDictionary>
<TreeModel functionName="classification" splitCharacteristic="binarySplit">
<MiningSchema>{mined}<MiningField name="{target}" usageType="target"/></MiningSchema>
{_node(model.tree_, 0, "<True/>", names, classes)}</TreeModel></PMML>""".encode()


def _node(tree: Any, at: int, asked: str, names: list[str], classes: list[str]) -> str:
    counts = tree.value[at][0] * tree.weighted_n_node_samples[at]
    text = "".join(
        f'<ScoreDistribution value="{value}" recordCount="{round(count)}"/>'
        for value, count in zip(classes, counts, strict=True)
    )
    inside = text
    if tree.children_left[at] >= 0:
        name, bound = names[tree.feature[at]], float(tree.threshold[at])
        sides = (("lessOrEqual", tree.children_left[at]), ("greaterThan", tree.children_right[at]))
        inside += "".join(
            _node(tree, child, f'<SimplePredicate field="{name}" operator="{sign}" value="{bound!r}"/>', names, classes)
            for sign, child in sides
        )
    return f'<Node score="{classes[counts.argmax()]}" recordCount="{round(counts.sum())}">{asked}{inside}</Node>'

"""Models of scikit-learn, LightGBM and XGBoost, as their exporters write them: compiled, and compared with
onnxruntime.

    python -m conformance.classical [--only TEXT] [--count NUMBER]

needs scikit-learn, skl2onnx, onnxmltools, lightgbm and xgboost. Data are drawn: numbers in a few clusters,
some of them missing where an imputer is tried. A line for each model says `verifies`, `differs` or `refused`,
and what was said. Labels have to be equal, scores are compared as floats, on rows that the model was fitted
to. The last line counts; ends with 1 where one differs.
"""

import argparse
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]
FEATURES, CLASSES = 8, 3
Fitted = Callable[[], Any]


def _numbers(rows: int = 400, seed: int = 0) -> tuple[Array, Array, Array]:
    """Rows of features around centres, their class, and a number that depends on them."""
    draw = np.random.default_rng(seed)
    centres = np.random.default_rng(7).normal(0.0, 2.0, (CLASSES, FEATURES))
    labels = draw.integers(0, CLASSES, rows)
    rows_of = (centres[labels] + draw.normal(0.0, 1.5, (rows, FEATURES))).astype(np.float32)
    values = (
        rows_of[:, 0] * 2 - np.abs(rows_of[:, 1]) + rows_of[:, 2] * rows_of[:, 3] + draw.normal(0, 0.1, rows)
    )
    return rows_of, labels, values.astype(np.float32)


X, LABELS, VALUES = _numbers()
BINARY = (LABELS > 0).astype(np.int64)
WHOLE = np.random.default_rng(3).integers(0, 4, X.shape).astype(np.int64)
HOLES = np.where(np.random.default_rng(4).random(X.shape) < 0.1, np.nan, X).astype(np.float32)


def _sklearn() -> Mapping[str, tuple[Fitted, Array]]:
    """The models of scikit-learn by name, each with data like those that it was fitted to."""
    from sklearn import (
        cluster,
        compose,
        decomposition,
        discriminant_analysis,
        ensemble,
        feature_selection,
        impute,
        linear_model,
        naive_bayes,
        neighbors,
        neural_network,
        pipeline,
        preprocessing,
        svm,
        tree,
    )  # fmt: skip

    def on(model: Any, y: Array | None = LABELS, x: Array = X) -> tuple[Fitted, Array]:
        return (lambda: model.fit(x) if y is None else model.fit(x, y)), x

    scaled = preprocessing.StandardScaler
    columns = compose.ColumnTransformer(
        [("scaled", scaled(), [0, 1, 2]), ("ranged", preprocessing.MinMaxScaler(), [3, 4])],
        remainder="passthrough",
    )
    return {
        "StandardScaler": on(scaled(), None),
        "MinMaxScaler": on(preprocessing.MinMaxScaler(), None),
        "MaxAbsScaler": on(preprocessing.MaxAbsScaler(), None),
        "RobustScaler": on(preprocessing.RobustScaler(), None),
        "Normalizer": on(preprocessing.Normalizer(), None),
        "Normalizer l1": on(preprocessing.Normalizer(norm="l1"), None),
        "Binarizer": on(preprocessing.Binarizer(threshold=0.3), None),
        "PolynomialFeatures": on(preprocessing.PolynomialFeatures(2), None),
        "OneHotEncoder": on(preprocessing.OneHotEncoder(sparse_output=False), None, WHOLE),
        "OrdinalEncoder": on(preprocessing.OrdinalEncoder(), None, WHOLE),
        "KBinsDiscretizer": on(preprocessing.KBinsDiscretizer(4, encode="ordinal"), None),
        "SimpleImputer": on(impute.SimpleImputer(), None, HOLES),
        "SelectKBest": on(feature_selection.SelectKBest(k=4)),
        "PCA": on(decomposition.PCA(4), None),
        "ColumnTransformer": on(columns, None),
        "KMeans": on(cluster.KMeans(4, n_init=1, random_state=0), None),
        "LogisticRegression": on(linear_model.LogisticRegression(max_iter=500)),
        "LogisticRegression binary": on(linear_model.LogisticRegression(max_iter=500), BINARY),
        "SGDClassifier": on(linear_model.SGDClassifier(random_state=0)),
        "RidgeClassifier": on(linear_model.RidgeClassifier()),
        "LinearRegression": on(linear_model.LinearRegression(), VALUES),
        "Lasso": on(linear_model.Lasso(0.01), VALUES),
        "LinearSVC": on(svm.LinearSVC()),
        "SVC rbf": on(svm.SVC()),
        "SVC poly binary": on(svm.SVC(kernel="poly"), BINARY),
        "SVC probability": on(svm.SVC(probability=True, random_state=0)),
        "NuSVC": on(svm.NuSVC(nu=0.2, kernel="linear")),
        "SVR rbf": on(svm.SVR(), VALUES),
        "SVR sigmoid": on(svm.SVR(kernel="sigmoid"), VALUES),
        "OneClassSVM": on(svm.OneClassSVM(nu=0.2), None),
        "DecisionTreeClassifier": on(tree.DecisionTreeClassifier(max_depth=6, random_state=0)),
        "DecisionTreeRegressor": on(tree.DecisionTreeRegressor(max_depth=6, random_state=0), VALUES),
        "RandomForestClassifier": on(ensemble.RandomForestClassifier(20, max_depth=5, random_state=0)),
        "RandomForestRegressor": on(ensemble.RandomForestRegressor(20, max_depth=5, random_state=0), VALUES),
        "ExtraTreesClassifier": on(ensemble.ExtraTreesClassifier(20, max_depth=5, random_state=0), BINARY),
        "GradientBoostingClassifier": on(
            ensemble.GradientBoostingClassifier(n_estimators=15, random_state=0)
        ),
        "GradientBoostingRegressor": on(
            ensemble.GradientBoostingRegressor(n_estimators=20, random_state=0), VALUES
        ),
        "HistGradientBoostingClassifier": on(
            ensemble.HistGradientBoostingClassifier(max_iter=10, random_state=0), LABELS, HOLES
        ),
        "HistGradientBoostingRegressor": on(ensemble.HistGradientBoostingRegressor(max_iter=15), VALUES),
        "AdaBoostClassifier": on(ensemble.AdaBoostClassifier(n_estimators=10, random_state=0), BINARY),
        "BaggingClassifier": on(ensemble.BaggingClassifier(n_estimators=5, random_state=0)),
        "IsolationForest": on(ensemble.IsolationForest(n_estimators=10, random_state=0), None),
        "VotingClassifier": on(
            ensemble.VotingClassifier(
                [
                    ("trees", tree.DecisionTreeClassifier(max_depth=4)),
                    ("line", linear_model.LogisticRegression()),
                ],
                voting="soft",
                flatten_transform=False,
            )
        ),
        "MLPClassifier": on(neural_network.MLPClassifier((12,), max_iter=300, random_state=0)),
        "MLPRegressor": on(
            neural_network.MLPRegressor(hidden_layer_sizes=(12,), max_iter=300, random_state=0), VALUES
        ),
        "GaussianNB": on(naive_bayes.GaussianNB()),
        "LinearDiscriminantAnalysis": on(discriminant_analysis.LinearDiscriminantAnalysis()),
        "KNeighborsClassifier": on(neighbors.KNeighborsClassifier(3), LABELS[:60], X[:60]),
        "Pipeline": on(
            pipeline.make_pipeline(
                impute.SimpleImputer(), scaled(), ensemble.RandomForestClassifier(8, random_state=0)
            ),
            LABELS,
            HOLES,
        ),
        "strings": on(
            linear_model.LogisticRegression(max_iter=500), np.array(["low", "mid", "high"])[LABELS]
        ),
    }


def _boosted() -> Mapping[str, tuple[Fitted, Array]]:
    """Models of LightGBM and XGBoost."""
    import lightgbm
    import xgboost

    def light(kind: Any, y: Array, **options: Any) -> Fitted:
        return lambda: kind(n_estimators=12, verbose=-1, **options).fit(X, y)

    def extreme(kind: Any, y: Array, **options: Any) -> Fitted:
        return lambda: kind(n_estimators=12, max_depth=4, **options).fit(X, y)

    return {
        "LGBMClassifier": (light(lightgbm.LGBMClassifier, LABELS), X),
        "LGBMClassifier binary": (light(lightgbm.LGBMClassifier, BINARY), X),
        "LGBMClassifier forest": (
            light(lightgbm.LGBMClassifier, BINARY, boosting_type="rf", bagging_freq=1, bagging_fraction=.7), X
        ),
        "LGBMRegressor": (light(lightgbm.LGBMRegressor, VALUES), X),
        "LGBMRegressor poisson": (light(lightgbm.LGBMRegressor, np.exp(VALUES / 10), objective="poisson"), X),
        "XGBClassifier": (extreme(xgboost.XGBClassifier, LABELS), X),
        "XGBClassifier binary": (extreme(xgboost.XGBClassifier, BINARY), X),
        "XGBRegressor": (extreme(xgboost.XGBRegressor, VALUES), X),
        "XGBRegressor missing": (extreme(xgboost.XGBRegressor, VALUES), HOLES),
        "XGBRFRegressor": (extreme(xgboost.XGBRFRegressor, VALUES), X),
    }  # fmt: skip


def exported(model: Any, data: Array) -> Any:
    """The model as an ONNX model for one row."""
    from skl2onnx import to_onnx
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType

    kind = Int64TensorType if data.dtype == np.int64 else FloatTensorType
    inputs = [("x", kind([1, data.shape[1]]))]
    library = type(model).__module__.partition(".")[0]
    if library == "sklearn":
        return to_onnx(model, initial_types=inputs, target_opset={"": 18, "ai.onnx.ml": 3})
    import onnxmltools
    from onnxmltools.convert.common.data_types import FloatTensorType as Floats

    convert = {"lightgbm": onnxmltools.convert_lightgbm, "xgboost": onnxmltools.convert_xgboost}[library]
    return convert(model, initial_types=[("x", Floats([1, data.shape[1]]))])


def outcome(name: str, fitted: Fitted, data: Array, folder: Path, count: int) -> str:
    """What became of a model: a verdict, and what was said."""
    import target_arch

    place = folder / name.replace(" ", "_")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            content = exported(fitted(), data)
    except Exception as error:  # exporters raise whatever they stumble over
        return f"unmade: {str(error).strip().splitlines()[0][:150]}"
    place.mkdir()
    (place / "model.onnx").write_bytes(content.SerializeToString())
    np.savez(place / "frames.npz", x=data[:count, None, :])
    try:
        bundle = target_arch.compile(place / "model.onnx", "mcu_m55").write(place / "bundle")
        (result,) = bundle.verify(place / "model.onnx", count=count, inputs=place / "frames.npz").values()
    except target_arch.DiagnosticError as refusal:
        return f"refused: {' '.join(str(refusal).replace(str(place), '').split())[:300]}"
    said = " ".join(str(result).split())
    return (
        f"{'verifies' if result.passed else 'differs'}: {len(bundle.manifest.models[0].operators)} operators"
        + ("" if result.passed else f", {said[:400]}")
    )


def main() -> int:
    """Print a line for each model, and how many had which verdict."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", metavar="TEXT", help="models whose name contains this")
    parser.add_argument("--count", type=int, default=50, metavar="NUMBER", help="rows that are compared")
    options = parser.parse_args()
    verdicts: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for name, (fitted, data) in {**_sklearn(), **_boosted()}.items():
            if options.only not in name:
                continue
            start = time.monotonic()
            said = outcome(name, fitted, data, Path(folder), options.count)
            print(f"{name}: {said} ({time.monotonic() - start:.1f} s)", flush=True)
            verdicts[said.partition(":")[0]] += 1
    print(dict(sorted(verdicts.items())))
    return 1 if verdicts["differs"] else 0


if __name__ == "__main__":
    sys.exit(main())

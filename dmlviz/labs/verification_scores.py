"""What the lab *Same or not* measures: its scores and the points of its ROC. Loads no torch."""

FALSE_POSITIVE_RATES = tuple(round(10 ** (exponent / 8), 6) for exponent in range(-32, 1))
SCORES = {
    "accuracy_10_fold": "Ten-fold accuracy",
    "roc_auc": "AUC",
    "eer": "Equal error rate",
    "fpr_at_95_recall": "FPR at 95 % recall",
    "recall_at_fpr_001": "Recall at FPR 0.001",
}

n_estimators = 100
score = 0.9
print("Accuracy:", score)
print("F1 score: %.3f" % score)

# Lines of JSON, a needed positional argument. Runs anywhere.
import argparse, json
ap = argparse.ArgumentParser()
ap.add_argument("data", help="folder")
ap.add_argument("--n-estimators", type=int, default=100)
ap.add_argument("--max-depth", type=int, default=6)
ap.add_argument("--eta", type=float, default=0.3)
ap.add_argument("--subsample", type=float, default=1.0)
args = ap.parse_args()
for e in range(3):
    print(json.dumps({"epoch": e, "val_rmse": 0.5/(e+1), "train_rmse": 0.4/(e+1)}))

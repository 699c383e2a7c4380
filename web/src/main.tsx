import { render } from "preact";
import "uplot/dist/uPlot.min.css";
import { App } from "./app";
import { showHidden } from "./printable";
import "./style.css";

showHidden();
render(<App />, document.getElementById("app") as HTMLElement);

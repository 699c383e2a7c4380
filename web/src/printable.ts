// What programs and people call things may hold characters that are not seen, or that turn around what stands beside them: they are
// shown as in the terminal, "\x1b" and "\u202e", in whatever the page says.
import { options, type VNode } from "preact";

const HIDDEN = /[\0-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]/;
const ALL_HIDDEN = new RegExp(HIDDEN, "g");
const SAID = ["title", "aria-label"];

function escape(character: string): string {
  const code = character.charCodeAt(0);
  return code < 0x100 ? "\\x" + code.toString(16).padStart(2, "0") : "\\u" + code.toString(16).padStart(4, "0");
}

export const printable = (text: string) => (HIDDEN.test(text) ? text.replace(ALL_HIDDEN, escape) : text);

const said = (value: unknown): unknown => (typeof value === "string" ? printable(value) : Array.isArray(value) ? value.map(said) : value);

// Of each element that is made, one place for all of them.
export function showHidden() {
  const before = options.vnode;
  options.vnode = (vnode: VNode) => {
    if (typeof vnode.type === "string") {
      const props = vnode.props as { [name: string]: unknown };
      props.children = said(props.children);
      for (const name of SAID) if (typeof props[name] === "string") props[name] = printable(props[name] as string);
    }
    before?.(vnode);
  };
}

// The same of what is drawn.
export function showHiddenOn(draw: CanvasRenderingContext2D) {
  const { fillText, measureText } = CanvasRenderingContext2D.prototype;
  draw.fillText = (text, ...place) => fillText.call(draw, printable(text), ...place);
  draw.measureText = (text) => measureText.call(draw, printable(text));
}

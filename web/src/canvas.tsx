// A drawing of a given height that is as wide as its place, drawn anew when either changes, or the colours of the page.
import { useEffect, useRef } from "preact/hooks";
import { showHiddenOn } from "./printable";

export interface Pen {
  draw: CanvasRenderingContext2D;
  width: number;
  height: number;
}

export interface Place {
  x: number;
  y: number;
}

// As much of a text as has room.
export function cut(draw: CanvasRenderingContext2D, text: string, room: number): string {
  if (draw.measureText(text).width <= room) return text;
  let length = text.length - 1;
  while (length > 1 && draw.measureText(text.slice(0, length) + "…").width > room) --length;
  return text.slice(0, length) + "…";
}

interface Props {
  label: string;
  height: number;
  paint: (pen: Pen) => void;
  when: unknown[]; // Painted anew when one of these has changed.
  onClick?: (place: Place) => void;
  onMove?: (place: Place | null) => void;
  onDrag?: (from: Place, to: Place) => void; // When the pointer is released, away from where it began.
}

export function Canvas({ label, height, paint, when, onClick, onMove, onDrag }: Props) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const begun = useRef<Place | null>(null);
  const latest = useRef(paint);
  latest.current = paint;
  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    const again = () => {
      const width = element.clientWidth;
      const dense = devicePixelRatio || 1;
      element.width = Math.round(width * dense);
      element.height = Math.round(height * dense);
      const draw = element.getContext("2d");
      if (!draw || width === 0) return;
      showHiddenOn(draw);
      draw.scale(dense, dense);
      draw.clearRect(0, 0, width, height);
      draw.font = "12px system-ui, sans-serif";
      latest.current({ draw, width, height });
    };
    again();
    const size = new ResizeObserver(again);
    size.observe(element);
    const theme = matchMedia("(prefers-color-scheme: dark)");
    theme.addEventListener("change", again);
    return () => {
      size.disconnect();
      theme.removeEventListener("change", again);
    };
  }, [height, ...when]);
  const at = (e: PointerEvent | MouseEvent): Place => ({ x: e.offsetX, y: e.offsetY });
  return (
    <canvas ref={canvas} role="img" aria-label={label} style={{ height: `${height}px` }}
      onPointerDown={(e) => {
        begun.current = at(e);
        e.currentTarget.setPointerCapture(e.pointerId); // A drag may end beside the drawing.
      }}
      onPointerCancel={() => { begun.current = null; }}
      onPointerMove={(e) => onMove?.(at(e))}
      onPointerLeave={() => onMove?.(null)}
      onPointerUp={(e) => {
        const from = begun.current, to = at(e);
        begun.current = null;
        if (!from) return;
        if (Math.hypot(to.x - from.x, to.y - from.y) > 5) onDrag?.(from, to);
        else onClick?.(to);
      }} />
  );
}

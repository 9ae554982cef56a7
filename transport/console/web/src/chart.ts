// The charts, apart from the rest so that the first view does not wait for them.
import uPlot from "uplot";
import { day, decimal, minutes, clock } from "./format";

/** A colour of the style sheet as the canvas takes it. */
function colour(of: Element, name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  of.append(probe);
  const c = getComputedStyle(probe).color;
  probe.remove();
  return c;
}

const font = "12px system-ui, sans-serif";

function axes(host: Element, decimals: number): uPlot.Axis[] {
  const ink = colour(host, "--ink-2"), line = colour(host, "--grid");
  const common = { stroke: ink, font, grid: { stroke: line, width: 1 }, ticks: { stroke: line, width: 1, size: 4 } };
  return [
    { ...common, space: 70, values: (_, splits, __, ___, step) => splits.map((s, i) => (step >= 86400 ? day(s * 1000) : step < 60 ? clock(s * 1000) : new Date(s * 1000).getHours() === 0 && new Date(s * 1000).getMinutes() === 0 && i > 0 ? day(s * 1000) : minutes(s * 1000))) },
    { ...common, size: (_, values) => 16 + 7.2 * Math.max(3, ...(values ?? []).map((v) => v.length)), values: (_, splits) => splits.map((s) => decimal(s, Number.isInteger(s) && splits.every(Number.isInteger) ? 0 : Math.max(1, decimals))) },
  ];
}

export interface Plot {
  set(data: uPlot.AlignedData, range?: [number, number], stepped?: boolean): void;
  destroy(): void;
}

function fitted(host: HTMLElement, u: uPlot): () => void {
  const o = new ResizeObserver(() => u.setSize({ width: host.clientWidth, height: host.clientHeight }));
  o.observe(host);
  return () => o.disconnect();
}

/** Horizontal lines with their names, such as the limits of a tag. */
function limits(lines: { at: number; name: string }[], ink: string): uPlot.Plugin {
  return {
    hooks: {
      draw: [(u) => {
        const c = u.ctx, r = devicePixelRatio;
        c.save();
        c.strokeStyle = c.fillStyle = ink;
        c.lineWidth = r;
        c.setLineDash([6 * r, 4 * r]);
        c.textAlign = "left";
        c.textBaseline = "alphabetic";
        c.font = `${11 * r}px system-ui, sans-serif`;
        for (const l of lines) {
          const y = Math.round(u.valToPos(l.at, "y", true)) + 0.5;
          if (y < u.bbox.top || y > u.bbox.top + u.bbox.height) continue;
          c.beginPath();
          c.moveTo(u.bbox.left, y);
          c.lineTo(u.bbox.left + u.bbox.width, y);
          c.stroke();
          c.fillText(l.name, u.bbox.left + 4 * r, y - 4 * r < u.bbox.top + 10 * r ? y + 12 * r : y - 4 * r);
        }
        c.restore();
      }],
    },
  };
}

interface TrendOptions {
  decimals: number;
  bool: boolean;
  /** A value holds until the next one, as stored samples do. */
  stepped: boolean;
  limits: { at: number; name: string }[];
  onZoom: (from: number, to: number) => void;
  onCursor: (index: number | null) => void;
}

/** The trend of a tag: time, the mean, the least and the greatest of each interval; gaps where there is nothing good. */
export function trend(host: HTMLElement, data: uPlot.AlignedData, range: [number, number], o: TrendOptions): Plot {
  let bounds = range, stepped = o.stepped;
  let { onZoom, onCursor } = o;
  const { bool } = o;
  const ink = colour(host, "--ink"), band = colour(host, "--band");
  const steps = uPlot.paths.stepped!({ align: 1 }), line = uPlot.paths.linear!();
  const paths: uPlot.Series.PathBuilder = (...where) => (stepped ? steps : line)(...where);
  const u = new uPlot({
    width: host.clientWidth, height: host.clientHeight,
    legend: { show: false },
    cursor: { y: false, drag: { x: true, y: false, setScale: false }, points: { show: false } },
    scales: {
      x: { time: true, range: () => bounds },
      y: { range: (_, lo, hi) => {
        if (lo == null || hi == null) return [0, 1];
        if (bool) return [-0.1, 1.1];
        const pad = (hi - lo || Math.abs(hi) * 0.1 || 1) * 0.08;
        return [lo - pad, hi + pad];
      } },
    },
    axes: axes(host, o.decimals),
    series: [{}, { stroke: ink, width: 1.5, paths, points: { show: false }, spanGaps: false }, { stroke: "transparent", points: { show: false }, paths }, { stroke: "transparent", points: { show: false }, paths }],
    bands: [{ series: [3, 2], fill: band }],
    plugins: [limits(o.limits, colour(host, "--ink-2"))],
    hooks: {
      setSelect: [(u) => {
        if (u.select.width < 4) return;
        onZoom(u.posToVal(u.select.left, "x"), u.posToVal(u.select.left + u.select.width, "x"));
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      }],
      setCursor: [(u) => onCursor(u.cursor.idx ?? null)],
    },
  }, data, host);
  const stop = fitted(host, u);
  return {
    set: (d, r, s) => { if (r) bounds = r; stepped = s ?? stepped; u.setData(d); },
    destroy: () => {
      stop();
      // The browser may keep the last plot for long: it must not keep the view and the samples with it.
      onZoom = onCursor = () => {};
      u.setData([[], [], [], []], false);
      u.destroy();
    },
  };
}

/** Bars by hour with a line for what can be managed. */
export function bars(host: HTMLElement, data: uPlot.AlignedData, limit: { at: number; name: string }): Plot {
  const u = new uPlot({
    width: host.clientWidth, height: host.clientHeight,
    legend: { show: false }, cursor: { show: false },
    scales: { x: { time: true, range: (_, lo, hi) => [lo - 1800, hi + 1800] }, y: { range: (_, __, hi) => [0, Math.max(hi ?? 0, limit.at) * 1.15] } },
    axes: axes(host, 0),
    series: [{}, { stroke: colour(host, "--line-strong"), fill: colour(host, "--bar"), width: 1, paths: uPlot.paths.bars!({ size: [0.7, 40] }), points: { show: false } }],
    plugins: [limits([limit], colour(host, "--ink-2"))],
  }, data, host);
  const stop = fitted(host, u);
  return { set: (d) => u.setData(d), destroy: () => { stop(); u.destroy(); } };
}

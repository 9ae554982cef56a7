import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { Icon } from "../ui";
import { word } from "../strings";
import type { Record, Status, Zone } from "./devicestore";
import { t } from "./devicetexts";
import { outlines, ZoneLayer, zoneText } from "./devicezones";

interface Box { x: number; y: number; w: number; h: number }

/** The area that shows all points with room around them; y grows upwards on the map and downwards on the screen. */
function around(points: [number, number][], ratio: number): Box {
  const xs = points.map((p) => p[0]), ys = points.map((p) => -p[1]);
  let [x, y] = [Math.min(...xs), Math.min(...ys)];
  let w = Math.max(...xs) - x, h = Math.max(...ys) - y;
  const room = Math.max(w, h, 10) * 0.15;
  x -= room; y -= room; w += 2 * room; h += 2 * room;
  if (w / h < ratio) { x -= (h * ratio - w) / 2; w = h * ratio; } else { y -= (w / ratio - h) / 2; h = w / ratio; }
  return { x, y, w, h };
}

/** The step between lines of the grid: 1, 2 or 5 of a power of ten, so that there are about ten. */
function step(w: number): number {
  const raw = w / 10, power = 10 ** Math.floor(Math.log10(raw));
  return power * ([1, 2, 5].find((n) => n * power >= raw) ?? 10);
}

const most = 500; // devices that are drawn

export function DeviceMap({ map, zones, list, routes, chosen, onChoose }: { map: string; zones: Zone[]; list: Status[]; routes: Record[]; chosen?: string; onChoose: (id: string) => void }) {
  const host = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState({ w: 600, h: 400 });
  const [own, setOwn] = useState<Box>(); // moved by the user
  const drag = useRef<{ x: number; y: number; box: Box; moved: boolean }>();
  const seen = useRef<{ map: string; box: Box }>();
  useLayoutEffect(() => {
    const measure = () => host.current && setSize({ w: Math.max(1, host.current.clientWidth), h: Math.max(1, host.current.clientHeight) });
    measure();
    const o = new ResizeObserver(measure);
    o.observe(host.current!);
    return () => o.disconnect();
  }, []);
  const here = list.filter((s) => s.telemetry?.position && (s.telemetry.position.map ?? "") === map).slice(0, most);
  const drawn = useMemo(() => outlines(zones.filter((z) => z.map === map)), [zones, map]);
  const ways = routes.filter((r) => r.path && r.path.map === map);
  const points = [...here.map((s) => [s.telemetry!.position!.x!, s.telemetry!.position!.y!] as [number, number]), ...ways.flatMap((r) => [[r.path!.fromX, r.path!.fromY], [r.path!.toX, r.path!.toY]] as [number, number][]), ...drawn.flatMap((z) => [[z.left, z.bottom], [z.right, z.top]] as [number, number][])];
  // What was seen stays in sight: the map grows with what moves, and does not follow it.
  const ratio = size.w / size.h;
  if (seen.current?.map !== map) seen.current = undefined;
  const before = seen.current?.box;
  const inside = before && Math.abs(before.w / before.h - ratio) < 0.01 && points.every(([x, y]) => x >= before.x && x <= before.x + before.w && -y >= before.y && -y <= before.y + before.h);
  if (!inside && points.length) {
    const corners: [number, number][] = before ? [[before.x + before.w * 0.1, -(before.y + before.h * 0.1)], [before.x + before.w * 0.9, -(before.y + before.h * 0.9)]] : [];
    seen.current = { map, box: around([...points, ...corners], ratio) };
  }
  const box = own ?? seen.current?.box ?? { x: 0, y: 0, w: 10 * ratio, h: 10 };
  const px = box.w / size.w; // metres

  const zoom = (factor: number, at = { x: 0.5, y: 0.5 }) => {
    const w = Math.min(1e6, Math.max(1, box.w * factor)), f = w / box.w;
    setOwn({ x: box.x + box.w * at.x * (1 - f), y: box.y + box.h * at.y * (1 - f), w, h: box.h * f });
  };
  const move = (dx: number, dy: number) => setOwn({ ...box, x: box.x + dx * box.w, y: box.y + dy * box.h });
  const onKeyDown = (e: KeyboardEvent) => {
    if (e.target !== host.current) return;
    const keys: { [key: string]: () => void } = { ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0), ArrowUp: () => move(0, -0.1), ArrowDown: () => move(0, 0.1), "+": () => zoom(0.8), "=": () => zoom(0.8), "-": () => zoom(1.25), "0": () => setOwn(undefined) };
    if (!(e.key in keys)) return;
    keys[e.key]();
    e.preventDefault();
  };
  // A wheel that zooms must not scroll the page too, which a listener of Preact cannot prevent.
  const wheel = useRef(zoom);
  wheel.current = zoom;
  useLayoutEffect(() => {
    const on = (e: WheelEvent) => {
      e.preventDefault();
      const r = host.current!.getBoundingClientRect();
      wheel.current(Math.exp(Math.max(-60, Math.min(60, e.deltaY)) * 0.004), { x: (e.clientX - r.left) / r.width, y: (e.clientY - r.top) / r.height });
    };
    host.current!.addEventListener("wheel", on, { passive: false });
    return () => host.current?.removeEventListener("wheel", on);
  }, []);
  const onPointerMove = (e: PointerEvent) => {
    const d = drag.current;
    if (!d) return;
    const dx = e.clientX - d.x, dy = e.clientY - d.y;
    if (!d.moved && Math.hypot(dx, dy) < 4) return;
    if (!d.moved) host.current!.setPointerCapture(e.pointerId);
    d.moved = true;
    setOwn({ ...d.box, x: d.box.x - dx * (d.box.w / size.w), y: d.box.y - dy * (d.box.h / size.h) });
  };

  const g = step(box.w);
  const columns: number[] = [], rows: number[] = [];
  for (let x = Math.ceil(box.x / g) * g; x <= box.x + box.w; x += g) columns.push(x);
  for (let y = Math.ceil(box.y / g) * g; y <= box.y + box.h; y += g) rows.push(y);
  return (
    <div class="devicemap">
      <div
        class="canvas" ref={host} role="group" tabIndex={0} aria-label={t("devices.mapText", { map, n: here.length, zones: drawn.length })} onKeyDown={onKeyDown}
        onPointerDown={(e) => { drag.current = { x: e.clientX, y: e.clientY, box, moved: false }; }} onPointerMove={onPointerMove}
        onPointerUp={() => { drag.current = undefined; }} onPointerCancel={() => { drag.current = undefined; }}
      >
        <svg viewBox={`${box.x} ${box.y} ${box.w} ${box.h}`} aria-hidden="true">
          <g class="lines" stroke-width={px}>
            {columns.map((x) => <path key={`x${x}`} d={`M${x} ${box.y}v${box.h}`} />)}
            {rows.map((y) => <path key={`y${y}`} d={`M${box.x} ${y}h${box.w}`} />)}
          </g>
          <g class="marks" font-size={11 * px}>
            {columns.map((x) => <text key={x} x={x + 3 * px} y={box.y + box.h - 4 * px}>{Math.round(x * 100) / 100}</text>)}
            {rows.map((y) => <text key={y} x={box.x + 3 * px} y={y - 3 * px}>{Math.round(-y * 100) / 100 + 0}</text>)}
          </g>
          <ZoneLayer zones={drawn} px={px} />
          {ways.map((r) => (
            <g key={r.commandId} class={`way${r.deviceId === chosen ? " chosen" : ""}`} stroke-width={2 * px} stroke-dasharray={`${6 * px} ${4 * px}`}>
              <path d={`M${r.path!.fromX} ${-r.path!.fromY}L${r.path!.toX} ${-r.path!.toY}`} />
              <circle cx={r.path!.toX} cy={-r.path!.toY} r={5 * px} stroke-dasharray="none" />
            </g>
          ))}
          {here.map((s) => {
            const p = s.telemetry!.position!, v = s.telemetry!.velocity;
            // A device that does not tell its heading goes where it moves to.
            const theta = p.theta ?? (v && Math.hypot(v.x ?? 0, v.y ?? 0) > 0.01 ? Math.atan2(v.y ?? 0, v.x ?? 0) : undefined);
            const stopped = s.device.emergencyStopLatched || s.telemetry!.emergencyStop !== "None";
            const bad = stopped || s.device.currentState === "Error";
            return (
              <g key={s.device.deviceId} class={`unit${s.device.deviceId === chosen ? " chosen" : ""}${bad ? " bad" : ""}${s.device.currentState === "Offline" ? " gone" : ""}`} transform={`translate(${p.x} ${-p.y!}) scale(${px})`} onClick={() => !drag.current?.moved && onChoose(s.device.deviceId)}>
                <circle r="22" class="reach" />
                <g transform={theta === undefined ? undefined : `rotate(${(-theta * 180) / Math.PI})`}>{theta === undefined ? <rect x="-9" y="-9" width="18" height="18" rx="3" /> : <path d="M14 0 -10 10 -5 0 -10-10z" />}</g>
                {bad && <path class="cross" d="M-14-14 14 14M14-14-14 14" />}
                <text y="28" text-anchor="middle" font-size="12">{s.device.name}{bad ? ` · ${stopped ? t("devices.estop") : word("device", s.device.currentState)}` : ""}</text>
              </g>
            );
          })}
        </svg>
        {drawn.length > 0 && <ul class="sr" aria-label={t("devices.zones")}>{drawn.map((z, i) => <li key={i}>{zoneText(z.zone)}</li>)}</ul>}
        {!points.length && <p class="empty">{t("devices.noMap")}</p>}
      </div>
      <div class="zoom">
        <button type="button" aria-label={t("devices.in")} onClick={() => zoom(0.7)}>+</button>
        <button type="button" aria-label={t("devices.out")} onClick={() => zoom(1.4)}>−</button>
        <button type="button" aria-label={t("devices.fit")} disabled={!own} onClick={() => setOwn(undefined)}><Icon name="overview" /></button>
      </div>
    </div>
  );
}

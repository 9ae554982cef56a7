import { decimal } from "../format";
import type { Zone } from "./devicestore";
import { t } from "./devicetexts";

const most = 200; // zones that are drawn
const order = { allowed: 0, speed: 1, keepOut: 2 };

/** A zone as it is drawn, with the corners of what is around it in metres. */
export interface Outline { zone: Zone; path: string; left: number; right: number; bottom: number; top: number }

/** The outlines of zones, allowed ones first, so that the others are seen in them. */
export function outlines(zones: Zone[]): Outline[] {
  return [...zones].sort((a, b) => order[a.kind] - order[b.kind]).slice(0, most).map((zone) => {
    let left = Infinity, right = -Infinity, bottom = Infinity, top = -Infinity;
    for (const [x, y] of zone.rings[0]) {
      left = Math.min(left, x); right = Math.max(right, x);
      bottom = Math.min(bottom, y); top = Math.max(top, y);
    }
    return { zone, path: zone.rings.map((ring) => `M${ring.map(([x, y]) => `${x} ${-y}`).join("L")}Z`).join(""), left, right, bottom, top };
  });
}

/** The name of a zone and what it limits. */
export function zoneText(z: Zone): string {
  return [z.name, t(`devices.zone.${z.kind}`), z.maxSpeed ? t("devices.zoneSpeed", { speed: decimal(z.maxSpeed) }) : ""].filter(Boolean).join(" · ");
}

/** px is the length of a pixel in metres. */
export function ZoneLayer({ zones, px }: { zones: Outline[]; px: number }) {
  const hatch = 8 * px;
  return (
    <g class="zones" stroke-width={1.5 * px} font-size={11 * px}>
      <pattern id="zone-hatch" width={hatch} height={hatch} patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d={`M0 0V${hatch}`} stroke-width={2 * px} /></pattern>
      {zones.map((z, i) => <path key={i} class={z.zone.kind} d={z.path} fill-rule="evenodd" stroke-dasharray={z.zone.kind === "speed" ? `${2 * px} ${3 * px}` : undefined} />)}
      {zones.map((z, i) => {
        const { name, kind, maxSpeed } = z.zone, within = (s: string) => z.right - z.left > s.length * 6 * px;
        const whole = zoneText(z.zone), short = [name || t(`devices.zone.${kind}`), maxSpeed ? `${decimal(maxSpeed)} m/s` : ""].filter(Boolean).join(" · ");
        const text = within(whole) ? whole : short, fits = within(text); // one that is too narrow has its text above it
        return <text key={i} x={z.left + 4 * px} y={-z.top + (fits ? 13 : -4) * px}>{text}</text>;
      })}
    </g>
  );
}

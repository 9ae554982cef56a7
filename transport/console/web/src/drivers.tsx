import { get, type DriverStatus } from "./api";
import { polled } from "./poll";
import { word } from "./strings";

export const drivers = polled(() => get<DriverStatus[]>("/api/v1/drivers"));

/** A state beside its shape: filled when all is well, hollow or crossed when not. */
export function StateMark({ good, off }: { good: boolean; off?: boolean }) {
  return (
    <svg class="smark" viewBox="0 0 12 12" aria-hidden="true">
      {good ? <circle cx="6" cy="6" r="4.5" class="fill" /> : off ? <path d="M2 6h8" /> : <path d="M2 2l8 8M10 2l-8 8" />}
    </svg>
  );
}

export function DriverState({ d }: { d: DriverStatus }) {
  const stopped = d.state === "Stopped" && d.enabled === false;
  return (
    <span class={`state${d.state === "Online" || stopped ? "" : " off"}`}>
      <StateMark good={d.state === "Online"} off={stopped} />{word("driver", stopped ? "Disabled" : d.state)}
    </span>
  );
}

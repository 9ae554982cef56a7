import { get } from "./api";
import type { components } from "./api.gen";
import { StateMark } from "./drivers";
import { polled } from "./poll";
import { word } from "./strings";

export type Engine = components["schemas"]["EngineStatus"];
export type EngineList = components["schemas"]["EngineList"];

export const engines = polled(() => get<EngineList>("/api/v1/engines"));

/** Whether an engine is late with the next renewal of its session, which comes each second. */
export const isSilent = (e: Engine): boolean => e.lagMs > 2500;

export function EngineState({ e }: { e: Engine }) {
  const silent = isSilent(e);
  const state = silent ? "Silent" : !e.draining ? "Active" : Object.keys(e.owned).length ? "Draining" : "Drained";
  return <span class={`state${silent ? " off" : ""}`}><StateMark good={state === "Active"} off={!silent} />{word("engine", state)}</span>;
}

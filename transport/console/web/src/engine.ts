import { computed, signal } from "@preact/signals";
import { get } from "./api";
import type { components } from "./api.gen";

/** What the engine says that it is. */
export const engine = signal<components["schemas"]["EngineInfo"] | undefined>(undefined);
/** The name of the engine, else the address of the page. */
export const engineName = computed(() => engine.value?.name || location.host);

export async function readEngine(): Promise<void> {
  engine.value = (await get<components["schemas"]["EngineInfo"]>("/api/v1/engine").catch(() => undefined)) ?? engine.peek();
}

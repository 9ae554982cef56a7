import { texts } from "../strings";
import type en from "./bridge.en.json";

export const t = texts<keyof typeof en>();

import { texts } from "../strings";
import en from "./bridge.en.json";
import ko from "./bridge.ko.json";

export const t = texts(en, ko);

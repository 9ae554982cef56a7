import { texts } from "../strings";
import en from "./devices.en.json";
import ko from "./devices.ko.json";

/** The texts of the view of devices. */
export const t = texts(en, ko);

// Views that are loaded together, because those who open one open the others too and they are smaller so.
export { default as Devices } from "./devices";
export { default as Predictions } from "./predictions";
export { default as Shells } from "./shells";

// Views that are loaded together, because those who open one open the others too and they are smaller so.
export { default as Alerts } from "./alerts";
export { default as Bridges } from "./bridges";
export { default as Configuration } from "./configuration";
export { default as Drivers } from "./drivers";
export { default as Rules } from "./rules";

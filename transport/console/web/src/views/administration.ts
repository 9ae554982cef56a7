// Views that are loaded together, because those who open one open the others too and they are smaller so.
export { default as Account } from "./account";
export { default as Audit } from "./audit";
export { default as Engines } from "./engines";
export { default as Users } from "./users";

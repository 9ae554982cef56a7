// The files of texts, as the bundler puts them together: English by key, and the values of other languages in the order of those keys.
declare module "texts:en" {
  const texts: Record<string, string>;
  export default texts;
}
declare module "texts:ko" {
  const values: string[];
  export default values;
}

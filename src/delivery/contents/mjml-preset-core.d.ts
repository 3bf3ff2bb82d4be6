/** The components of MJML. The package has no types. */
declare module 'mjml-preset-core' {
  const presetCore: { components: object[]; dependencies: Record<string, unknown> };
  export = presetCore;
}

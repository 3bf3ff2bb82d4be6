/** Packages of MJML that have no types. */
declare module 'mjml-preset-core' {
  /** The class of a component, such as `mj-text`. */
  interface Component {
    componentName: string;
    /** Whether its content is HTML. */
    endingTag: boolean;
  }
  const presetCore: { components: Component[]; dependencies: Record<string, unknown> };
  export = presetCore;
}

declare module 'mjml-parser-xml' {
  interface Options {
    components: Record<string, object>;
    keepComments: boolean;
    ignoreIncludes: boolean;
  }
  /** @throws Error if the text is not MJML */
  function parse<Node>(mjml: string, options: Options): Node;
  export = parse;
}

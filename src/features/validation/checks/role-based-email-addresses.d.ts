/** Local parts of role addresses, in lower case. The package has no types. */
declare module 'role-based-email-addresses' {
  const localParts: readonly string[];
  export = localParts;
}

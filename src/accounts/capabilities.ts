/** What an account may use, unless an operator made an exception; false for what is not there yet. */
const defaults = {
  email: true,
  sms: true,
  campaigns: false,
  flows: false,
  validation: false,
  inboxes: false,
  webhooks: true,
  custom_domains: false,
  mcp: false,
};

export type Capability = keyof typeof defaults;

export const capabilities = Object.keys(defaults) as Capability[];

/** @param exceptions an operator's, by name; what is no boolean or no capability is left out */
export function capabilitiesOf(exceptions: Record<string, unknown>): Record<Capability, boolean> {
  const all = capabilities.map((name): [Capability, boolean] => {
    const exception = exceptions[name];
    return [name, typeof exception === 'boolean' ? exception : defaults[name]];
  });
  return Object.fromEntries(all) as Record<Capability, boolean>;
}

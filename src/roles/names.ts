/** The kinds of process of an installation; each is a module of `src/roles/`. */
export const roles = ['api', 'worker', 'sender', 'mail', 'submission'] as const;

export type RoleName = (typeof roles)[number];

/** Those whose processes share the rate limits of API keys. */
export const REQUEST_ROLES = ['api', 'submission'] as const satisfies readonly RoleName[];

/** The kinds of process of an installation; each is a module of `src/roles/`. */
export const roles = ['api', 'worker', 'sender', 'mail'] as const;

export type RoleName = (typeof roles)[number];
